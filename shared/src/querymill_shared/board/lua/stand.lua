-- Note that a process stands for election to sweep, and which shards it sweeps. Return how many processes do, and the shards that
-- none of them sweeps. One that was not heard of for a term has died.
-- KEYS sweepers
-- ARGV candidate shards term_ms all_shards
local sweepers, now, living, free = KEYS[1], now_ms(), 0, ARGV[4]
if redis.call('TYPE', sweepers).ok ~= 'hash' then redis.call('DEL', sweepers) end
redis.call('HSET', sweepers, ARGV[1], string.format('%.0f ', now) .. ARGV[2])
redis.call('PEXPIRE', sweepers, ARGV[3])
local known = redis.call('HGETALL', sweepers)
for i = 1, #known, 2 do
  local at, shards = string.match(known[i + 1], '^(%d+) (%x*)$')
  if not at or math.abs(now - at) >= tonumber(ARGV[3]) then
    redis.call('HDEL', sweepers, known[i])
  else
    living = living + 1
    if shards ~= '' then free = string.gsub(free, '[' .. shards .. ']', '') end
  end
end
return {living, free}
