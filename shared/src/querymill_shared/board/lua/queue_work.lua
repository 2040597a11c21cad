-- Return of each queue of this shard how many steps wait and how many run, for how many ms the oldest has waited, -1 if none
-- waits, and how many steps were claimed so far. A step that rests on purpose is not counted before its time has come. What is
-- in a set by mistake is removed: another program deleted its job, or a worker of a release without these sets went on with it.
-- KEYS counts (waiting running of each queue)...
-- ARGV key_prefix queue...
local now, found = now_ms(), {}

local function is_at(entry, place)
  local id, step = string.match(entry, '^(%S+) (%S+)$')
  local state = id and redis.pcall('HGET', ARGV[1] .. id .. ':job', 'state')
  if state ~= 'queued' and state ~= 'running' then return false end
  return redis.pcall('HGET', ARGV[1] .. id .. ':steps', step .. '.state') == place
end

local function without_mistakes(key, place, some)
  local removed = 0
  for _, entry in ipairs(some) do
    if not is_at(entry, place) then
      redis.pcall('ZREM', key, entry)
      removed = removed + 1
    end
  end
  return #some - removed
end

for i = 2, #KEYS, 2 do
  local waiting, running = KEYS[i], KEYS[i + 1]
  for _, key in ipairs({waiting, running}) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'zset' and kind ~= 'none' then redis.pcall('DEL', key) end
  end
  -- The steps that run are as many as there are threads. Those that wait may be millions, and their oldest tells enough.
  without_mistakes(running, 'running', redis.call('ZRANGE', running, 0, 999))
  for _ = 1, 10 do
    local some = redis.call('ZRANGE', waiting, 0, 99)
    if without_mistakes(waiting, 'waiting', some) == #some then break end
  end
  local first = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
  local age = first[2] and now - tonumber(first[2]) or -1
  found[#found + 1] = redis.call('ZCOUNT', waiting, '-inf', now)
  found[#found + 1] = redis.call('ZCARD', running)
  found[#found + 1] = math.max(age, -1)
  found[#found + 1] = tonumber((redis.pcall('HGET', KEYS[1], 'claimed/' .. ARGV[1 + i / 2]))) or 0
end
return found
