-- Claim a step and start its lease, unless the job has ended or is past its deadline, or the step is closed or leased.
-- KEYS job steps events due request
-- ARGV job_id step lease_ms
local job, steps, events, due, request = unpack(KEYS)
local id, step, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
if is_over(job) then return {'over'} end

local now = now_ms()
local deadline = tonumber(redis.call('HGET', job, 'deadline'))
if deadline > 0 and now >= deadline then return {'late'} end

local state = redis.call('HGET', steps, step .. '.state')
if not state then return {'unknown'} end
if state == 'done' or state == 'failed' then return {'closed'} end
if state == 'running' and tonumber(redis.call('HGET', steps, step .. '.lease')) > now then return {'held'} end

local attempt = redis.call('HINCRBY', steps, step .. '.attempt', 1)
redis.call('HSET', steps, step .. '.state', 'running', step .. '.lease', now + lease, step .. '.started', now)
redis.call('HSET', job, 'state', 'running')
redis.call('ZADD', due, now + lease, id .. ' ' .. step)
tell(events, 'stage_started', cjson.encode({type = 'stage_started', stage = step, attempt = attempt}))
return {'claimed', attempt, deadline > 0 and deadline - now or -1, redis.call('GET', request) or '', redis.call('HGET', job, 'created')}
