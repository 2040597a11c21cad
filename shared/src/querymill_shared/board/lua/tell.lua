-- Append an event, unless the job has ended or the attempt no longer holds its step (the fence).
-- KEYS job steps events
-- ARGV type body [step attempt]
local job, steps, events = unpack(KEYS)
local step = ARGV[3]
if is_over(job) then return 0 end
if step then
  local state, attempt = unpack(redis.call('HMGET', steps, step .. '.state', step .. '.attempt'))
  if state ~= 'running' or attempt ~= ARGV[4] then return 0 end
end
if ARGV[1] == 'hits' then redis.call('HSET', job, 'told', now_ms()) end
if ARGV[1] == 'progress' then
  -- A step that came further than ever before has all its attempts again: only what never comes further is given up.
  local told = cjson.decode(ARGV[2])
  if told.done > tonumber(redis.call('HGET', steps, told.stage .. '.reached') or 0) then
    redis.call('HSET', steps, told.stage .. '.reached', told.done)
    redis.call('HDEL', steps, told.stage .. '.deaths', told.stage .. '.failures')
  end
end
tell(events, ARGV[1], ARGV[2])
return 1
