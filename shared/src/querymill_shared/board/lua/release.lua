-- Delete an ended job before its result expires. A job that has not ended stays.
-- KEYS job steps events hits queries request result ended
if is_over(KEYS[1]) then return redis.call('DEL', unpack(KEYS)) > 0 and 1 or 0 end
return 0
