-- Return the oldest jobs of a shard that have not ended, each with the time at which it was accepted. Jobs that have
-- ended or expired without leaving the list are removed here.
-- KEYS open
-- ARGV key_prefix most
local open, found = KEYS[1], {}
if redis.call('TYPE', open).ok ~= 'zset' then
  redis.call('DEL', open)
  return found
end
local start = 0
while #found < 2 * tonumber(ARGV[2]) do
  local some = redis.call('ZRANGE', open, start, start + 99, 'WITHSCORES')
  if #some == 0 then break end
  for i = 1, #some, 2 do
    local state = redis.pcall('HGET', ARGV[1] .. some[i] .. ':job', 'state')
    if state ~= 'queued' and state ~= 'running' then
      redis.call('ZREM', open, some[i])
    else
      start = start + 1
      if #found < 2 * tonumber(ARGV[2]) then
        found[#found + 1], found[#found + 2] = some[i], some[i + 1]
      end
    end
  end
end
return found
