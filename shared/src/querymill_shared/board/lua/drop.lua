-- Delete a dead job before it expires.
-- KEYS job dead steps events hits queries request result rings
-- ARGV job_id
if redis.call('HGET', KEYS[1], 'state') ~= 'dead' then return 0 end
redis.pcall('ZREM', KEYS[2], ARGV[1])
redis.pcall('ZREM', string.match(KEYS[1], '^.-}:') .. 'recent', ARGV[1])
for place, key in ipairs(KEYS) do
  if place ~= 2 then redis.call('DEL', key) end
end
return 1
