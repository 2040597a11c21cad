-- Note in one shard that a life is on the list of the worker processes (beat.lua): it may claim steps, for others notice its death.
-- Not so if it has ended (see put_back.lua).
-- KEYS lives held
-- ARGV life
local lives, held = unpack(KEYS)
if redis.pcall('SISMEMBER', held, OVER) == 1 then return 0 end
return add_to(lives, ARGV[1])
