-- Strike a worker process off the list. One that was taken for dead stays if it has beaten since: it stood still, and holds
-- steps again. Nobody would know whose they are once it dies.
-- KEYS workers about
-- ARGV life beat_at("" whatever it is)
if ARGV[2] ~= '' and tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1])) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
