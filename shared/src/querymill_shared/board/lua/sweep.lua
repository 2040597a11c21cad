-- Return the due entries. Each becomes due again on its own, so a sweeper that dies loses nothing.
-- The wait doubles with every ring, so that a backlog does not cause more and more bells.
-- A malformed entry is removed: it must not keep the jobs of this shard from being swept.
-- KEYS due
-- ARGV key_prefix grace_ms limit
local due = KEYS[1]
local now = now_ms()

local function names_a_step(id, step)
  if not id then return false end
  local job = ARGV[1] .. id
  if type(redis.pcall('HGET', job .. ':job', 'state')) ~= 'string' then return false end
  return string.sub(step, 1, 1) == '@' or redis.pcall('HEXISTS', job .. ':steps', step .. '.state') == 1
end

if redis.call('TYPE', due).ok ~= 'zset' then
  redis.call('DEL', due)
  return {}
end
local found = {}
local taken = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))
for _, entry in ipairs(taken) do
  local id, step = string.match(entry, '^(%S+) (%S+)$')
  if names_a_step(id, step) then
    local rings = redis.call('HINCRBY', ARGV[1] .. id .. ':rings', step, 1)
    redis.call('PEXPIRE', ARGV[1] .. id .. ':rings', 3600000)
    redis.call('ZADD', due, now + math.min(tonumber(ARGV[2]) * 2 ^ math.min(rings, 10), 60000), entry)
    found[#found + 1] = entry
  else
    redis.call('ZREM', due, entry)
  end
end
return found
