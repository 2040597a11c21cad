-- Decide whether one call may be paid for, and hold its estimated cost until its bill is settled: see settle_bill.lua.
--
-- A call begins while what its key has spent and what is held together are below the key's budget, or below the part of it that
-- extras may use. So all calls together exceed that by no more than the last one that began. A worker that dies leaves what it
-- held for the rest of the day, because the provider may charge it.
-- KEYS slot
-- ARGV collection tokens most_tokens_of_the_collection(0: no limit) owner('': nobody's key) nanos is_extra(0|1)
--   extras_percent budgets
-- Returns {verdict: ok | tokens | extras | budget, day, used today, the limit, ms until the day is over}. "ok" has 1 for the limit if
-- the cost is held.
local collection, tokens, most, owner, nanos = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local now = now_ms()
local day = math.floor(now / 86400000)
local left = 86400000 - now % 86400000
local purse = KEYS[1] .. day .. ':purse'
drop_unless('hash', purse)

-- A script of a cluster may read this: it is in the slot. Workers may not write it. Of another type, it holds no budgets.
local budgets, budget = ARGV[8], nil
if owner ~= '' and redis.call('TYPE', budgets).ok == 'hash' then budget = whole(redis.call('HGET', budgets, owner)) end
if budget then
  local spent = read_sum(purse, 'spent/' .. owner)
  local committed = spent + read_sum(purse, 'held/' .. owner)
  if committed >= budget then return {'budget', day, string.format('%.0f', spent), string.format('%.0f', budget), left} end
  if ARGV[6] == '1' and committed >= budget * tonumber(ARGV[7]) / 100 then
    return {'extras', day, string.format('%.0f', spent), string.format('%.0f', budget), left}
  end
end
if most > 0 then
  local used = read_sum(purse, 'tokens/' .. collection)
  if used + tokens > most then return {'tokens', day, used, most, left} end
  add_sum(purse, 'tokens/' .. collection, tokens)
end
if budget then add_sum(purse, 'held/' .. owner, nanos) end
return {'ok', day, 0, budget and 1 or 0, left}
