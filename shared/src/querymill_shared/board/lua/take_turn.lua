-- Return the turn of a job among those that supersede each other, in µs: the moment, or one more than the turn before.
-- KEYS turn
-- ARGV kept_ms
local turn = KEYS[1]
local before = redis.pcall('GET', turn)
if type_is_wrong(before) then redis.call('DEL', turn) end
local mine = string.format('%.0f', math.max(read_clock(), (tonumber(before) or 0) + 1))
redis.call('SET', turn, mine, 'PX', ARGV[1])
return mine
