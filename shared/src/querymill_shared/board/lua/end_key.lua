-- Let an idempotency key go with the result of its job, which has ended.
-- KEYS idempotency
-- ARGV job_id ttl_ms
local known = known_of(KEYS[1])
if not known or string.match(known, '^%S+') ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
