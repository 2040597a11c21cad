-- Let another process sweep a shard, if this one does.
-- KEYS sweeper
-- ARGV candidate
if redis.pcall('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
