-- Put a step back, to be rung again after a delay, if this attempt still holds it.
-- KEYS job steps events due held
-- ARGV job_id step attempt delay_ms reason event counter short_reason facts
local job, steps, events, due, held = unpack(KEYS)
local step = ARGV[2]
redis.pcall('SREM', held, ARGV[1] .. ' ' .. step .. ' ' .. ARGV[3])
if is_over(job) then return 0 end
if redis.call('HGET', steps, step .. '.state') ~= 'running' then return 0 end
if redis.call('HGET', steps, step .. '.attempt') ~= ARGV[3] then return 0 end
local now = now_ms()
keep_attempt(job, steps, step, now, ARGV[7], ARGV[8], ARGV[9], now + tonumber(ARGV[4]))
redis.call('HSET', steps, step .. '.state', 'waiting', step .. '.reason', ARGV[5])
add_one(steps, step .. '.' .. ARGV[7])
-- This worker could read the job, so nobody has to give it up.
redis.call('HDEL', steps, step .. '.left', step .. '.left_at')
forget_rings(stem_of(job, ARGV[1]), step)
put_in(due, now + tonumber(ARGV[4]), ARGV[1] .. ' ' .. step)
note_place(job, step, 'waiting', now + tonumber(ARGV[4]))
tell(events, 'stage_finished', ARGV[6])
return 1
