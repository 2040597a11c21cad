-- Return the turn of a job among those that supersede each other, '' if it takes none.
-- KEYS job
local turn = redis.pcall('HGET', KEYS[1], 'turn')
return type(turn) == 'string' and turn or ''
