-- Take what is due; each entry comes back later by itself, so a sweeper that dies loses nothing.
-- The wait doubles with every ring, so that a backlog is not answered with more bells.
-- KEYS due
-- ARGV key_prefix grace_ms most
local due = KEYS[1]
local now = now_ms()
local taken = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))
for _, entry in ipairs(taken) do
  local id, step = string.match(entry, '^(%S+) (%S+)$')
  local rings = redis.call('HINCRBY', ARGV[1] .. id .. ':rings', step, 1)
  redis.call('PEXPIRE', ARGV[1] .. id .. ':rings', 3600000)
  redis.call('ZADD', due, now + math.min(tonumber(ARGV[2]) * 2 ^ math.min(rings, 10), 60000), entry)
end
return taken
