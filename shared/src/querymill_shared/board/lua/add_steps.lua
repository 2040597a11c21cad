-- Give a job further steps, each due for a bell like those it began with; answer with the names that are new.
-- KEYS job steps due
-- ARGV job_id grace_ms step...
local job, steps, due = unpack(KEYS)
local id, at = ARGV[1], now_ms() + tonumber(ARGV[2])
if is_over(job) then return {} end
local added = {}
for i = 3, #ARGV do
  local step = ARGV[i]
  if redis.call('HSETNX', steps, step .. '.state', 'waiting') == 1 then
    redis.call('HSET', steps, step .. '.attempt', 0)
    redis.call('HSET', job, 'order', redis.call('HGET', job, 'order') .. ' ' .. step)
    redis.call('HINCRBY', job, 'open', 1)
    redis.call('ZADD', due, at, id .. ' ' .. step)
    added[#added + 1] = step
  end
end
-- There is something to do again before anybody settles.
if #added > 0 then redis.call('ZREM', due, id .. ' @settle') end
return added
