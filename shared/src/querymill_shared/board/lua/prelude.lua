-- Prepended to every script of the board. The whole fleet uses one clock: the server's.
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function is_over(job)
  local state = redis.call('HGET', job, 'state')
  return not state or (state ~= 'queued' and state ~= 'running')
end

local function tell(events, type, body)
  redis.call('XADD', events, 'MAXLEN', '~', 1000, '*', 'type', type, 'body', body)
end

-- The whole job in one reply, for a finished step, the sweeper and readers.
local function picture(keys)
  return {
    redis.call('HGETALL', keys.job),
    redis.call('HGETALL', keys.steps),
    redis.call('HGETALL', keys.hits),
    redis.call('HGETALL', keys.queries),
  }
end
