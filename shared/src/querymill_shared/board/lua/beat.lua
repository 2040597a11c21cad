-- Note that a worker process lives, and what it is. Return the lives that have been silent for too long.
-- KEYS workers about
-- ARGV life about("": as before) silent_ms
local workers, about = unpack(KEYS)
local now = now_ms()
-- Another program may have written over the list, or over what they are. Of a lost list, all that are described begin again: who is
-- dead is silent for as long as a lease from now on.
if redis.call('TYPE', about).ok ~= 'hash' then redis.call('DEL', about) end
if redis.call('TYPE', workers).ok ~= 'zset' then
  redis.call('DEL', workers)
  for _, life in ipairs(redis.call('HKEYS', about)) do redis.call('ZADD', workers, now, life) end
end
redis.call('ZADD', workers, now, ARGV[1])
-- Nobody has beaten in the future: another program wrote that, or the board was emptied while its server's clock was ahead.
for _, life in ipairs(redis.call('ZRANGEBYSCORE', workers, string.format('(%.0f', now), '+inf')) do
  redis.call('ZADD', workers, now, life)
end
if ARGV[2] ~= '' then redis.call('HSET', about, ARGV[1], ARGV[2]) end
return redis.call('ZRANGEBYSCORE', workers, '-inf', now - tonumber(ARGV[3]))
