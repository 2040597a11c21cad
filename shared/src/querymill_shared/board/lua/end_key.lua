-- Let an idempotency key go with the result of its job, which has ended.
-- KEYS idempotency
-- ARGV job_id ttl_ms
local known = known_of(KEYS[1])
if not known or string.match(known, '^%S+') ~= ARGV[1] then return 0 end
-- It was accepted, though its submitter may not have said so (keep.lua), and may never do.
if string.sub(known, -1) == '!' then redis.call('SET', KEYS[1], string.sub(known, 1, -3)) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
