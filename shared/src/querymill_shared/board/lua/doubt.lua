-- Ask whether what is stored has larger versions than the board knows of: the server was started since the last write.
-- KEYS clock
redis.pcall('HINCRBY', KEYS[1], 'asked', 1)
return 1
