-- Strike a dead worker process off the list.
-- KEYS workers about
-- ARGV life
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
