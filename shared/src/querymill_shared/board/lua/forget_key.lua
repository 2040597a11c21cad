-- Delete an idempotency key whose job is gone.
-- KEYS idempotency
-- ARGV void
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
