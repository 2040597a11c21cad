-- Delete an idempotency key whose job is gone.
-- KEYS idempotency
-- ARGV void
if known_of(KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
