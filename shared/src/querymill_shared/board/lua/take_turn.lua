-- Return the turn of a job among those that supersede each other, in µs: the moment, or one more than the turn before.
-- KEYS turn
-- ARGV kept_ms
local turn = KEYS[1]
local before, accepted = turns_of(turn)
local mine = string.format('%.0f', math.max(read_clock(), before + 1))
redis.call('SET', turn, mine .. ' ' .. accepted, 'PX', ARGV[1])
return mine
