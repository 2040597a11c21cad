-- Turn the reservation of an idempotency key into its job. Return what the key says of the job that has it.
-- KEYS idempotency
-- ARGV job_id fingerprint ttl_ms
local known = known_of(KEYS[1])
local mine = ARGV[1] .. ' ' .. ARGV[2]
if not known or known == mine .. ' !' then
  redis.call('SET', KEYS[1], mine, 'PX', ARGV[3])
  return mine
end
return known
