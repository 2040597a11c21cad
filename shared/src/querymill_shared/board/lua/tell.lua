-- Append an event, unless the job has ended or the attempt no longer holds its step (the fence).
-- KEYS job steps events
-- ARGV type body [step attempt]
local job, steps, events = unpack(KEYS)
local step = ARGV[3]
if is_over(job) then return 0 end
if step then
  if redis.call('HGET', steps, step .. '.state') ~= 'running' then return 0 end
  if redis.call('HGET', steps, step .. '.attempt') ~= ARGV[4] then return 0 end
end
if ARGV[1] == 'hits' then redis.call('HSET', job, 'told', now_ms()) end
tell(events, ARGV[1], ARGV[2])
return 1
