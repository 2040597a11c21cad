-- Turn the reservation of an idempotency key into its job. Return the id of the job that has the key.
-- KEYS idempotency
-- ARGV job_id fingerprint ttl_ms
local known = known_of(KEYS[1])
local mine = ARGV[1] .. ' ' .. ARGV[2]
if not known or known == mine .. ' !' then
  redis.call('SET', KEYS[1], mine, 'PX', ARGV[3])
  return ARGV[1]
end
return string.match(known, '^%S+')
