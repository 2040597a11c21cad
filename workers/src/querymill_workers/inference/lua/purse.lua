-- Prepended to open_bill.lua and settle_bill.lua: the purse of a day, a hash of what is spent, held and used on it.

-- What another program wrote there, and is no count, is counted as none.
local function read_sum(purse, field)
  return whole(redis.call('HGET', purse, field)) or 0
end

-- Add to a sum, or take from it. A purse may be lost while a call is under way: nobody is owed what was held in it.
local function add_sum(purse, field, amount)
  local sum = math.max(0, read_sum(purse, field) + amount)
  redis.call('HSET', purse, field, string.format('%.0f', sum))
  redis.call('PEXPIRE', purse, 172800000)
end
