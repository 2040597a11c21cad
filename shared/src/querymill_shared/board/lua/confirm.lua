-- Confirm versions that were decided (decide.lua) and are on the server's disk now: their writes may be begun.
-- KEYS clock
-- ARGV decided
local _, _, confirmed, decided = read_versions()
-- A server that was started since then may know less than it had decided.
redis.call('HSET', KEYS[1], 'confirmed', math.max(confirmed, math.min(tonumber(ARGV[1]), decided)))
return 1
