-- Add steps to a job. Steps that it already has stay as they are.
-- KEYS job steps due
-- ARGV job_id grace_ms step...
local job, steps, due = unpack(KEYS)
local id = ARGV[1]
if is_over(job) then return {} end
local added = {}
for i = 3, #ARGV do
  if redis.call('HSETNX', steps, ARGV[i] .. '.state', 'waiting') == 1 then
    redis.call('HSET', steps, ARGV[i] .. '.attempt', 0)
    redis.call('ZADD', due, now_ms() + tonumber(ARGV[2]), id .. ' ' .. ARGV[i])
    added[#added + 1] = ARGV[i]
  end
end
if #added > 0 then
  redis.call('HINCRBY', job, 'open', #added)
  redis.call('HSET', job, 'order', redis.call('HGET', job, 'order') .. ' ' .. table.concat(added, ' '))
  -- The job has open steps again, so it must not be settled.
  redis.call('ZREM', due, id .. ' @settle')
end
return added
