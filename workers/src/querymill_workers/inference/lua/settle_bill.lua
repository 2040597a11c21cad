-- Settle the bill of calls: correct what was held for them, and add what they cost to the sums of the day.
-- KEYS slot
-- ARGV day(-1: today) collection tokens_to_correct(0: nothing was held) owner nanos_held
--   model currency('': no price) calls input_tokens output_tokens nanos weight most_subjects others kept_ms
--   [dimension subject]...
local day = tonumber(ARGV[1])
if day < 0 then day = math.floor(now_ms() / 86400000) end
local stem = KEYS[1] .. day
local purse, owner = stem .. ':purse', ARGV[4]
drop_unless('hash', purse)
if tonumber(ARGV[3]) ~= 0 then add_sum(purse, 'tokens/' .. ARGV[2], tonumber(ARGV[3])) end
-- What a key has spent is known before it gets a budget, too.
if owner ~= '' then
  if tonumber(ARGV[5]) > 0 then add_sum(purse, 'held/' .. owner, -tonumber(ARGV[5])) end
  if tonumber(ARGV[11]) > 0 then add_sum(purse, 'spent/' .. owner, tonumber(ARGV[11])) end
end
if tonumber(ARGV[9]) + tonumber(ARGV[10]) == 0 then return end

-- A subject has a line for each model and currency: calls, tokens in and out, nanos. All are whole numbers below 2^53.
local function merge(lines, model, currency, numbers)
  local merged, is_known = {}, false
  for line in string.gmatch(lines or '', '[^\n]+') do
    local its_model, its_currency, calls, sent, written, nanos = string.match(line, '^([^\t]*)\t([^\t]*)\t(%d+)\t(%d+)\t(%d+)\t(%d+)$')
    if its_model == model and its_currency == currency then
      is_known = true
      line = table.concat({model, currency, string.format('%.0f\t%.0f\t%.0f\t%.0f', calls + numbers[1], sent + numbers[2],
        written + numbers[3], nanos + numbers[4])}, '\t')
    end
    if its_model then merged[#merged + 1] = line end
  end
  if not is_known then
    merged[#merged + 1] = table.concat({model, currency, string.format('%.0f\t%.0f\t%.0f\t%.0f', unpack(numbers))}, '\t')
  end
  return table.concat(merged, '\n')
end

-- Add the subjects that weigh least up as one, when there are twice as many as are kept apart. So the next new one has room to
-- grow, and a call pays for this once in so many.
local function trim(sums, weights, most, others)
  if redis.call('ZCARD', weights) <= 2 * most then return end
  local lines = redis.call('HGET', sums, others)
  local least = redis.call('ZPOPMIN', weights, most)
  for i = 1, #least, 2 do
    for line in string.gmatch(redis.call('HGET', sums, least[i]) or '', '[^\n]+') do
      local model, currency, calls, sent, written, nanos = string.match(line, '^([^\t]*)\t([^\t]*)\t(%d+)\t(%d+)\t(%d+)\t(%d+)$')
      if model then lines = merge(lines, model, currency, {calls, sent, written, nanos}) end
    end
    redis.call('HDEL', sums, least[i])
  end
  if lines then redis.call('HSET', sums, others, lines) end
end

local numbers = {tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])}
local most, others, kept_ms = tonumber(ARGV[13]), ARGV[14], ARGV[15]
for i = 16, #ARGV, 2 do
  local sums, subject = stem .. ':' .. ARGV[i], ARGV[i + 1]
  local weights = sums .. ':weights'
  drop_unless('hash', sums)
  drop_unless('zset', weights)
  redis.call('HSET', sums, subject, merge(redis.call('HGET', sums, subject), ARGV[6], ARGV[7], numbers))
  redis.call('PEXPIRE', sums, kept_ms)
  if subject ~= others then
    redis.call('ZINCRBY', weights, ARGV[12], subject)
    redis.call('PEXPIRE', weights, kept_ms)
    trim(sums, weights, most, others)
  end
end
