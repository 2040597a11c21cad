-- Strike a process off the list of those that stand for election to sweep.
-- KEYS sweepers
-- ARGV candidate
local removed = redis.pcall('HDEL', KEYS[1], ARGV[1])
return removed == 1 and 1 or 0
