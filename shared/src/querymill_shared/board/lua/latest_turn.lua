-- Return the latest turn that was taken, or '' if that is not known any more.
-- KEYS turn
local latest = redis.pcall('GET', KEYS[1])
return type(latest) == 'string' and latest or ''
