-- Put a step back, to be rung again after a delay, if this attempt still holds it.
-- KEYS job steps events due
-- ARGV job_id step attempt delay_ms reason event
local job, steps, events, due = unpack(KEYS)
local step = ARGV[2]
if is_over(job) then return 0 end
if redis.call('HGET', steps, step .. '.state') ~= 'running' then return 0 end
if redis.call('HGET', steps, step .. '.attempt') ~= ARGV[3] then return 0 end
redis.call('HSET', steps, step .. '.state', 'waiting', step .. '.reason', ARGV[5])
redis.call('ZADD', due, now_ms() + tonumber(ARGV[4]), ARGV[1] .. ' ' .. step)
tell(events, 'stage_finished', ARGV[6])
return 1
