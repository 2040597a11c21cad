-- Note in one shard that a collection holds something else now: no search joins one from before.
-- KEYS corpus
-- ARGV collection
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
return redis.pcall('HINCRBY', KEYS[1], ARGV[1], 1)
