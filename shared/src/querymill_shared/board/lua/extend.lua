-- Renew a lease, unless the job has ended or this attempt no longer holds the step.
-- KEYS job steps due
-- ARGV job_id step attempt lease_ms
local job, steps, due = unpack(KEYS)
local step = ARGV[2]
if is_over(job) then return 0 end
if redis.call('HGET', steps, step .. '.state') ~= 'running' then return 0 end
if redis.call('HGET', steps, step .. '.attempt') ~= ARGV[3] then return 0 end
local lease = now_ms() + tonumber(ARGV[4])
redis.call('HSET', steps, step .. '.lease', lease)
put_in(due, lease, ARGV[1] .. ' ' .. step)
return 1
