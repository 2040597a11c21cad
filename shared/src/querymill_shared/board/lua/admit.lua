-- Note in one shard that a life is on the list of the worker processes (beat.lua): it may claim steps, for others notice its death.
-- Not so if it has ended (see put_back.lua).
-- KEYS held
local held = KEYS[1]
if redis.call('TYPE', held).ok ~= 'set' then redis.call('DEL', held) end
if redis.call('SISMEMBER', held, OVER) == 1 then return 0 end
return redis.call('SADD', held, LISTED)
