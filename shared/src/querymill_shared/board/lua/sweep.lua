-- Take what is due; each entry comes back later by itself, so a sweeper that dies loses nothing.
-- The wait doubles with every ring, so that a backlog is not answered with more bells.
-- What is no entry of ours is removed: one element must not silence the shard's jobs.
-- KEYS due
-- ARGV key_prefix grace_ms most
local due = KEYS[1]
local now = now_ms()

local function is_ours(id, step)
  if not id then return false end
  local job = ARGV[1] .. id
  if type(redis.pcall('HGET', job .. ':job', 'state')) ~= 'string' then return false end
  return string.sub(step, 1, 1) == '@' or redis.pcall('HEXISTS', job .. ':steps', step .. '.state') == 1
end

if redis.call('TYPE', due).ok ~= 'zset' then
  redis.call('DEL', due)
  return {}
end
local ours = {}
local taken = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))
for _, entry in ipairs(taken) do
  local id, step = string.match(entry, '^(%S+) (%S+)$')
  if is_ours(id, step) then
    local rings = redis.call('HINCRBY', ARGV[1] .. id .. ':rings', step, 1)
    redis.call('PEXPIRE', ARGV[1] .. id .. ':rings', 3600000)
    redis.call('ZADD', due, now + math.min(tonumber(ARGV[2]) * 2 ^ math.min(rings, 10), 60000), entry)
    ours[#ours + 1] = entry
  else
    redis.call('ZREM', due, entry)
  end
end
return ours
