-- Ask whether what is stored has larger versions than the board knows of: the server was started since the last write.
-- KEYS clock
local largest, _, _, decided = read_versions()
if largest then redis.call('HSET', KEYS[1], 'asked', decided + 1) end
return 1
