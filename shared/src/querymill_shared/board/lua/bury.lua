-- Put back every step of this shard that a worker process held when it ended: to be rung at once, by another's attempt.
-- A death is counted against the step, for it may be what kills workers. A planned stop is a pause.
-- A malformed entry is passed over: it must not keep the other steps from being put back.
-- KEYS held due
-- ARGV key_prefix event_reason counter(deaths|pauses)
local held, due = unpack(KEYS)
if redis.call('TYPE', held).ok ~= 'set' then
  redis.call('DEL', held)
  return {}
end
local now, found = now_ms(), {}

local function put_back(id, step, attempt)
  local key = ARGV[1] .. id
  if is_over(key .. ':job') or redis.call('HGET', key .. ':steps', step .. '.state') ~= 'running' then return end
  if redis.call('HGET', key .. ':steps', step .. '.attempt') ~= attempt then return end
  redis.call('HINCRBY', key .. ':steps', step .. '.' .. ARGV[3], 1)
  if ARGV[3] == 'deaths' then count(key .. ':job', 'leases_lost') end
  keep_attempt(key .. ':job', key .. ':steps', step, now, ARGV[3], ARGV[2], '', now)
  redis.call('HSET', key .. ':steps', step .. '.state', 'waiting', step .. '.reason', ARGV[2])
  redis.call('ZADD', due, now, id .. ' ' .. step)
  tell(key .. ':events', 'stage_finished',
    cjson.encode({type = 'stage_finished', stage = step, state = 'retrying', reason = ARGV[2]}))
  found[#found + 1] = {id, step}
end

for _, member in ipairs(redis.call('SMEMBERS', held)) do
  local id, step, attempt = string.match(member, '^(%S+) (%S+) (%d+)$')
  if id then pcall(put_back, id, step, attempt) end
end
redis.call('DEL', held)
return found
