-- Delete a job that holds a forgotten text, wherever it holds it. One that ended just now stays readable for a moment, for
-- those who wait for it; one that has not ended goes on, and is deleted a moment after its end. Return whether it is there still.
-- KEYS job steps events hits queries request result rings dead
-- ARGV job_id readable_ms
local job, dead = KEYS[1], KEYS[9]
if redis.call('EXISTS', job) == 1 and not is_over(job) then
  redis.call('HSET', job, 'forgotten', 1)
  return 1
end
redis.pcall('ZREM', dead, ARGV[1])
local left = (tonumber(redis.call('HGET', job, 'ended')) or 0) + tonumber(ARGV[2]) - now_ms()
for place, key in ipairs(KEYS) do
  if key ~= dead then
    if left > 0 then redis.call('PEXPIRE', key, left) else redis.call('DEL', key) end
  end
end
for _, part in ipairs({'shared', 'callers'}) do
  if left > 0 then redis.call('PEXPIRE', own_stem(job) .. part, left) else redis.call('DEL', own_stem(job) .. part) end
end
return left > 0 and 1 or 0
