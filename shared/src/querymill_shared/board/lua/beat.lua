-- Note that a worker process lives, and what it is. Return the lives that have been silent for too long.
-- KEYS workers about
-- ARGV life about silent_ms
local workers, about = unpack(KEYS)
local now = now_ms()
redis.call('ZADD', workers, now, ARGV[1])
redis.call('HSET', about, ARGV[1], ARGV[2])
return redis.call('ZRANGEBYSCORE', workers, '-inf', now - tonumber(ARGV[3]))
