-- Decide whether one call may be paid for, and hold its estimated cost until its bill is settled: see settle_bill.lua.
-- A worker that dies leaves what it held for the rest of the day, because the provider may charge it.
-- KEYS slot
-- ARGV collection tokens most_tokens_of_the_collection(0: no limit)
-- Returns {'ok', day} or {'tokens', day, tokens used today, ms until the day is over}
local collection, tokens, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now = now_ms()
local day = math.floor(now / 86400000)
local purse = KEYS[1] .. day .. ':purse'
if most > 0 then
  local used = tonumber(redis.call('HGET', purse, 'tokens/' .. collection) or 0)
  if used + tokens > most then return {'tokens', day, used, 86400000 - now % 86400000} end
  redis.call('HINCRBY', purse, 'tokens/' .. collection, tokens)
  redis.call('PEXPIRE', purse, 172800000)
end
return {'ok', day}
