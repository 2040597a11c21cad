-- Append an event, unless the job is over.
-- KEYS job events
-- ARGV type body
if is_over(KEYS[1]) then return 0 end
if ARGV[1] == 'hits' then redis.call('HSET', KEYS[1], 'told', now_ms()) end
tell(KEYS[2], ARGV[1], ARGV[2])
return 1
