-- Confirm versions that were decided (decide.lua) and are on the server's disk now: their writes may be begun.
-- KEYS clock
-- ARGV decided
local confirmed, decided = unpack(redis.call('HMGET', KEYS[1], 'confirmed', 'decided'))
-- A server that was started since then may know less than it had decided.
local known = math.min(tonumber(ARGV[1]), tonumber(decided) or 0)
redis.call('HSET', KEYS[1], 'confirmed', math.max(tonumber(confirmed) or 0, known))
return 1
