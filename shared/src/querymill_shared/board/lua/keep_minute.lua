-- Keep what the fleet did until this minute: see fleet_history.py. Return whether it was kept. It is not if somebody else has
-- kept a minute since this one's figures were compared with the totals.
-- KEYS history totals
-- ARGV former minute oldest ttl_ms record totals
local history, totals = KEYS[1], KEYS[2]
local function newest() return redis.pcall('XREVRANGE', history, '+', '-', 'COUNT', 1) end
local last = newest()
if type_is_wrong(last) then
  redis.call('DEL', history)
  last = newest()
end
if (last[1] and last[1][1] or '') ~= ARGV[1] then return 0 end
-- The board's clock does not go back, so another program wrote a minute that has not come yet.
if tonumber(string.match(ARGV[1], '^%d+') or 0) > tonumber(ARGV[2]) then redis.call('DEL', history) end
redis.call('XADD', history, 'MINID', ARGV[3], ARGV[2] .. '-0', 'record', ARGV[5])
redis.call('SET', totals, ARGV[6], 'PX', ARGV[4])
redis.call('PEXPIRE', history, ARGV[4])
return 1
