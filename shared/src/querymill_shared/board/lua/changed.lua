-- Note in one shard that a collection holds something else now: no search joins one from before. The version of what it holds is the
-- moment in µs, so that none comes again after another program wrote over one. A server that was started may have lost its last
-- second, and with it that a collection changed: it forgets all of them, so that no search joins one from before.
-- KEYS corpus
-- ARGV collection
local corpus, collection = KEYS[1], ARGV[1]
if redis.call('TYPE', corpus).ok ~= 'hash' then redis.call('DEL', corpus) end
local version = math.max(read_clock(), (whole(redis.call('HGET', corpus, collection)) or 0) + 1)
redis.call('HSET', corpus, collection, string.format('%.0f', version))
return 1
