-- Reserve an idempotency key for a job of another slot, or return what the key says of the job that has it: its id, its
-- fingerprint, and "!" as long as that job may still be on its way to the board.
-- KEYS idempotency
-- ARGV job_id fingerprint reservation_ms void
local known = known_of(KEYS[1])
-- The job of this value is known to be gone.
if known and known ~= ARGV[4] then return known end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' !', 'PX', ARGV[3])
return ''
