-- Ask whether what is stored has larger versions than the board knows of: the server was started since the last write.
-- KEYS clock
local added = redis.pcall('HINCRBY', KEYS[1], 'asked', 1)
if type(added) == 'number' then return 1 end
local largest, asked = read_versions()
if largest then redis.call('HSET', KEYS[1], 'asked', asked) end
return 1
