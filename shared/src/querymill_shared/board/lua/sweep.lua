-- Return the due entries. Each becomes due again on its own, so a sweeper that dies loses nothing.
-- The wait doubles with every ring, so that a backlog does not cause more and more bells.
-- A step whose bell may still be in its queue is left out, so that a queue that nobody empties does not grow with each sweep.
-- A malformed entry, or one of a job that has ended, is removed: it must not keep the other jobs from being
-- swept. Malformed ones are counted.
-- A process that names itself gets nothing, and changes nothing, unless it is elected (the fence).
-- Return also what callers are to be told of jobs that have ended.
-- KEYS due sweeper callbacks
-- ARGV key_prefix grace_ms limit sweeper(""|its name) (queue wait_ms)...
local due = KEYS[1]
if ARGV[4] ~= '' and redis.pcall('GET', KEYS[2]) ~= ARGV[4] then return {{}, {}} end
local now = now_ms()
local waits = {}
for i = 5, #ARGV, 2 do waits[ARGV[i]] = tonumber(ARGV[i + 1]) end

-- Return whether a step needs a bell, and note that it gets one. It does not if its queue may still hold one for it: a bell
-- that was rung more lately than bells wait there. A step that nobody has tried shares the bell of its job's other steps in
-- the queue.
local function needs_a_bell(id, step)
  local job = ARGV[1] .. id
  local queues = redis.call('HGET', job .. ':job', 'queues') or ''
  local start, stop = string.find(' ' .. queues, ' ' .. step .. '=', 1, true)
  if not start then return true end
  local queue = string.match(queues, '^%S+', stop)
  local read = redis.call('HMGET', job .. ':steps', step .. '.state', step .. '.attempt', step .. '.queued')
  local mark = '@' .. (read[2] == '0' and queue or step)
  if read[1] == 'waiting' then
    -- A release that keeps no such sets may have put it on the board.
    local since = read[3] or redis.call('HGET', job .. ':job', 'created') or now
    redis.pcall('ZADD', ARGV[1] .. 'waiting:' .. queue, 'NX', since, id .. ' ' .. step)
    local rung = redis.call('HGET', job .. ':rings', mark)
    if read[2] == '0' and tonumber(rung) == now then return false end
    rung = tonumber(rung or redis.call('HGET', job .. ':job', 'created')) or 0
    if waits[queue] and now - rung <= waits[queue] then return false end
  end
  redis.call('HSET', job .. ':rings', mark, now)
  return true
end

local function names_a_step(id, step)
  if not id then return false end
  local job = ARGV[1] .. id
  local state = redis.pcall('HGET', job .. ':job', 'state')
  if state ~= 'queued' and state ~= 'running' then return false end
  return string.sub(step, 1, 1) == '@' or redis.pcall('HEXISTS', job .. ':steps', step .. '.state') == 1
end

-- Have an entry become due again, and return whether it is to be acted on now.
local function look_at(entry, id, step)
  local rings = redis.call('HINCRBY', ARGV[1] .. id .. ':rings', step, 1)
  redis.call('PEXPIRE', ARGV[1] .. id .. ':rings', 3600000)
  -- A job that waits for a store to be settled is not to miss its deadline once the store is back.
  local is_hurried = step == '@settle' and redis.call('HGET', ARGV[1] .. id .. ':job', 'deadline') ~= '0'
  local longest = is_hurried and 5000 or 60000
  redis.call('ZADD', due, now + math.min(tonumber(ARGV[2]) * 2 ^ math.min(rings, 10), longest), entry)
  return string.sub(step, 1, 1) == '@' or needs_a_bell(id, step)
end

-- Return the entries of a list that are due. A list that another program wrote is deleted.
local function due_in(list)
  if redis.call('TYPE', list).ok == 'zset' then
    return redis.call('ZRANGEBYSCORE', list, '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))
  end
  redis.call('DEL', list)
  return {}
end

local found, callbacks = {}, due_in(KEYS[3])
for _, entry in ipairs(callbacks) do redis.call('ZADD', KEYS[3], now + tonumber(ARGV[2]), entry) end
for _, entry in ipairs(due_in(due)) do
  local id, step = string.match(entry, '^(%S+) (%S+)$')
  if names_a_step(id, step) then
    local is_read, is_found = pcall(look_at, entry, id, step)
    if not is_read then
      -- Another program wrote where the rings are counted. The count starts again at 0.
      redis.call('DEL', ARGV[1] .. id .. ':rings')
      redis.call('ZADD', due, now + tonumber(ARGV[2]), entry)
    end
    if is_found then found[#found + 1] = entry end
  else
    redis.call('ZREM', due, entry)
    if not id then count(due, 'due_dropped') end
  end
end
return {found, callbacks}
