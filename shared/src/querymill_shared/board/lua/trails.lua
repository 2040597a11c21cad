-- After the prelude, for the scripts that use it: the trail of a job, which outlives it.

-- What of a record is no text of anybody. A reason may quote a document, so only the code stays of it.
local TRAILED = {'kind', 'collection', 'lane', 'state', 'created', 'deadline', 'ended', 'code', 'lacks', 'left', 'leader', 'labels',
  'owner', 'order', 'accepted', 'first', 'counts_as', 'marks'}
-- What of a step, in the order in which trails.py reads it.
local OF_STEP = {'state', 'attempt', 'queued', 'started', 'ended', 'life', 'facts', 'deaths', 'failures', 'outages', 'conflicts',
  'pauses', 'past'}

-- Return the last attempts that were put back, each without its reason.
local function past_without_reasons(past)
  local lines = {}
  for line in string.gmatch(past, '[^\n]+') do
    local is_read, attempt = pcall(cjson.decode, line)
    if is_read and type(attempt) == 'table' and #attempt >= 8 then
      attempt[7] = ''
      local is_written, told = pcall(cjson.encode, attempt)  -- not so a number that another program wrote there
      if is_written then lines[#lines + 1] = told end
    end
  end
  return table.concat(lines, '\n', math.max(1, #lines - 2))
end

-- List a job under its marks for so many ms from now on. Where others are listed with it, it stays for as long as they do.
local function keep_marks(job, id, marks, ms)
  for mark in string.gmatch(marks, '%S+') do
    local key = shard_of(job) .. 'marked:' .. mark
    if ms <= 0 then
      redis.pcall('ZREM', key, id)
    elseif redis.pcall('ZCARD', key) == 1 or redis.call('PTTL', key) < ms then
      redis.pcall('PEXPIRE', key, ms)
    end
  end
end

-- Let a trail go. Its job is listed for as long as its record stays: that of one that ends just now for `ttl`.
local function drop_trail(job, id, trails, ttl)
  local trail, ms = stem_of(job, id) .. 'trail', redis.call('PTTL', stem_of(job, id) .. 'job')
  local is_read, read = pcall(cjson.decode, redis.pcall('GET', trail) or '')
  local record = is_read and type(read) == 'table' and read[1]
  for place = 1, type(record) == 'table' and #record or 0, 2 do
    if record[place] == 'marks' then keep_marks(job, id, tostring(record[place + 1]), ms == -1 and ttl or ms) end
  end
  redis.call('DEL', trail)
  redis.call('ZREM', trails, id)
end

-- Keep what a job did, without what it asked and found: its record, its first forty steps and of each the last attempts. It is
-- written at the moment of the job's end, so that no death of a worker costs it. The latest `most` of a shard stay, each until its
-- time is up. A job is listed for as long as something can be seen of it: its record stays for `ttl`.
local function write_trail(job, id, kept_ms, most, ttl)
  if kept_ms <= 0 or most <= 0 then kept_ms = 0 end
  keep_marks(job, id, redis.call('HGET', job, 'marks') or '', math.max(kept_ms, ttl))
  if kept_ms == 0 then return end
  local record, steps, read = {}, {}, redis.call('HMGET', job, unpack(TRAILED))
  local function put(field, value)
    if value then record[#record + 1], record[#record + 2] = field, value end
  end
  for place, field in ipairs(TRAILED) do put(field, read[place]) end
  put('reason', read[4] == 'cancelled' and redis.call('HGET', job, 'reason'))
  for name in string.gmatch(read[14] or '', '%S+') do
    local fields, step = {}, {name}
    for place, field in ipairs(OF_STEP) do fields[place] = name .. '.' .. field end
    local values = redis.pcall('HMGET', own_stem(job) .. 'steps', unpack(fields))
    for place in ipairs(OF_STEP) do step[#step + 1] = not values.err and values[place] or '' end
    step[#step] = past_without_reasons(step[#step])
    while step[#step] == '' do step[#step] = nil end
    steps[#steps + 1] = step
    if #steps == 40 then break end
  end
  local callers = redis.pcall('SCARD', own_stem(job) .. 'callers')
  put('callers', type(callers) == 'number' and callers > 1 and callers)
  local trails = shard_of(job) .. 'trails'
  redis.pcall('SET', own_stem(job) .. 'trail', cjson.encode({record, steps}), 'PX', kept_ms)
  put_in(trails, tonumber(read[5]) or 0, id)
  redis.pcall('PEXPIRE', trails, kept_ms)
  redis.pcall('ZREMRANGEBYSCORE', trails, '-inf', now_ms() - kept_ms)
  local surplus = redis.pcall('ZRANGE', trails, 0, -most - 1)
  for place, other in ipairs(type_is_wrong(surplus) and {} or surplus) do
    if place > 10 then break end
    drop_trail(job, other, trails, ttl)
  end
end

