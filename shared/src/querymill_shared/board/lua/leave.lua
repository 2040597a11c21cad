-- Put a claimed step back unused, for a worker that can read the job. Return for how many ms workers have left it.
-- The waits double, so that a fleet without such a worker does not spin. The attempt is given back: nothing was tried.
-- KEYS job steps events due held
-- ARGV job_id step attempt reason event first_wait_ms life
local job, steps, events, due, held = unpack(KEYS)
local step = ARGV[2]
redis.pcall('SREM', held, ARGV[1] .. ' ' .. step .. ' ' .. ARGV[3])
if is_over(job) then return 0 end
if redis.call('HGET', steps, step .. '.state') ~= 'running' then return 0 end
if redis.call('HGET', steps, step .. '.attempt') ~= ARGV[3] then return 0 end
if redis.call('HGET', steps, step .. '.life') ~= ARGV[7] then return 0 end
local now = now_ms()
redis.call('HINCRBY', steps, step .. '.attempt', -1)
redis.call('HSET', steps, step .. '.state', 'waiting', step .. '.reason', ARGV[4])
redis.call('HSETNX', steps, step .. '.left_at', now)
local times = redis.call('HINCRBY', steps, step .. '.left', 1)
put_in(due, now + math.min(tonumber(ARGV[6]) * 2 ^ math.min(times - 1, 20), 60000), ARGV[1] .. ' ' .. step)
tell(events, 'stage_finished', ARGV[5])
local left_at = tonumber(redis.call('HGET', steps, step .. '.left_at'))
note_place(job, step, 'waiting', left_at)
return now - left_at
