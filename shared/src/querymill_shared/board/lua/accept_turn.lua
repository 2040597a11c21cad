-- Note that a job was accepted with its turn. Return the latest turn with which one was: a turn may be taken for a job that is
-- refused, or that an idempotency key leads to an earlier one.
-- KEYS turn
-- ARGV turn kept_ms
local turn = KEYS[1]
local taken, accepted = turns_of(turn)
local latest = string.format('%.0f', math.max(accepted, tonumber(ARGV[1])))
redis.call('SET', turn, string.format('%.0f', math.max(taken, tonumber(ARGV[1]))) .. ' ' .. latest, 'PX', ARGV[2])
return latest
