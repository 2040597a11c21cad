-- In front of every script of the board stands what it uses of this: see scripts.py.

-- Whether the slot of a hash tag, such as "qm:{0}", is moving to another server of a cluster, key by key. Then some of its keys are
-- on neither server for a script that looks for them by itself, and what it writes stands in the way of those to come. Only the
-- server knows: it refuses to look for two keys of such a slot that it has not.
local function is_moving(tag)
  local found = redis.pcall('EXISTS', tag .. ':-', tag .. ':--')
  return type(found) == 'table' and string.find(found.err, 'non local key', 1, true) ~= nil
end

-- What the board knows of time: see adr/0028-*.md. "at" is "board's µs, server's µs" when the clock was last noted. A cluster has
-- this key on one server. The others answer with an error: there each shard has a clock of its own, and no versions. So all writes
-- are in the slot of this key: see exchanges.py.
local CLOCK = 'qm:{0}:clock'
-- Among what a life holds: it has ended, and claims nothing more.
local OVER = 'over'

-- The whole fleet uses one clock, the board's, in µs. It is the server's, but it never goes back: if that does, the board's
-- clock goes on from where it was, by 1 % too slowly until the server's has caught up. A script runs at one moment.
local moment
local function read_clock()
  if moment then return moment.board, moment.server end
  local time = redis.call('TIME')
  local server = time[1] * 1000000 + time[2]
  local clock, read = CLOCK, redis.pcall('HGET', CLOCK, 'at')
  local tag = string.match(KEYS[1] or '', '^qm:[^{]*{.-}')
  if tag and type(read) == 'table' and read.err and not type_is_wrong(read) then
    clock = tag .. ':clock'
    read = redis.pcall('HGET', clock, 'at')
  end
  if type_is_wrong(read) then redis.call('DEL', clock) end
  local board, noted = string.match(type(read) == 'string' and read or '', '^(%d+) (%d+)$')
  moment = {board = server, server = server}
  if board then moment.board = math.max(server, board + math.floor(0.99 * math.max(0, server - noted))) end
  local is_old = not board or server < tonumber(noted) or server - noted >= 1000000
  if is_old and (clock == CLOCK or not is_moving(tag)) then
    redis.pcall('HSET', clock, 'at', string.format('%.0f %.0f', moment.board, server))
  end
  return moment.board, server
end

local function now_ms()
  return math.floor(read_clock() / 1000)
end

-- By how many ms the board's clock is ahead of its server's.
local function ahead_ms()
  local board, server = read_clock()
  return math.floor((board - server) / 1000)
end

-- Read a whole number that is counted exactly. Return nil if it is none: another program may have written it.
local function whole(text)
  local number = type(text) == 'string' and string.match(text, '^%d+$') and tonumber(text)
  return number and number <= 2 ^ 53 and number or nil
end

-- Return what the clock says of versions: the largest, the number of the question that is asked, up to which number they are
-- confirmed and decided, and the first one since the question. Of a largest that is none, the stores are asked again. Return nil
-- on another server of a cluster.
local function read_versions()
  local read = redis.pcall('HMGET', CLOCK, 'version', 'asked', 'confirmed', 'decided', 'base')
  if read.err then return nil end
  local version, asked, confirmed = whole(read[1]), whole(read[2]), whole(read[3]) or 0
  local decided = math.max(whole(read[4]) or 0, confirmed)
  if not (version and asked and asked <= decided) then asked = decided + 1 end
  return version or 0, asked, confirmed, decided, whole(read[5])
end

-- Return the version of a write that is accepted now: the moment in µs, or one more than the largest so far. If nobody has
-- confirmed that what is stored has no larger one, since the server was started or lost its data, return under which number
-- that is asked, too: see decide.lua.
local function next_version()
  local largest, asked, confirmed, decided = read_versions()
  if not largest then return (read_clock()) end
  local version = math.max(read_clock(), largest + 1)
  local written = string.format('%.0f', version)
  redis.pcall('HSET', CLOCK, 'version', written, 'asked', asked)
  if asked <= confirmed then return version end
  if asked > decided then redis.pcall('HSETNX', CLOCK, 'base', written) end
  return version, asked
end

-- Whether a job is on the board, and its caller has not released it. What another program wrote in its place is no job.
local function is_there(job)
  local read = redis.pcall('HMGET', job, 'id', 'released')
  return not read.err and read[1] and not read[2]
end

-- How long an idempotency key may be reserved, in ms, as in exchanges.py.
local RESERVATION = 10000

-- Return what an idempotency key says of the job that has it: its id and its fingerprint, with "!" as long as it may still be on
-- its way to the board. Nothing, if another program wrote it.
local function known_of(idempotency)
  local known = redis.pcall('GET', idempotency)
  if type(known) ~= 'string' then return nil end
  if string.match(known, '^%x+ [%x*]+$') then return known end
  -- After a step back of the server's clock, or if another program wrote it, a reservation would outlive its submitter.
  local left = string.match(known, '^%x+ [%x*]+ !$') and redis.call('PTTL', idempotency)
  return left and left >= 0 and left <= RESERVATION and known
end

local function is_final(state)
  return not state or (state ~= 'queued' and state ~= 'running')
end

local function is_over(job)
  return is_final(redis.call('HGET', job, 'state'))
end

-- Whether an event is the last one of its job.
local function is_end(type)
  return type == 'done' or type == 'failed' or type == 'cancelled'
end

-- Tell those who watch a job, each on the one stream that its process reads for all jobs of this shard.
-- The job's field "watch" lists them: "watcher:all watcher:end ...". The latter are told of the end only.
-- "count" is the length of the job's own stream, by which a reader notices that it missed an event. Who waits for the end is
-- told the result with it, unless that is long, shared, or holds a forgotten text, or its stream is long: a process that does
-- not read must not fill the server.
local function pass_on(events, event_id, type, body)
  local shard, id = string.match(events, '^(.-}:)(.*):events$')
  local watch, forgotten = unpack(redis.call('HMGET', shard .. id .. ':job', 'watch', 'forgotten'))
  if not watch then return end
  local count
  local is_last = is_end(type)
  local function result_for(stream)
    local stored = shard .. id .. ':result'
    local bytes = type == 'done' and not forgotten and redis.pcall('STRLEN', stored)
    local is_short = tonumber(bytes) and bytes > 0 and bytes <= 16384
    local entries = is_short and tonumber(redis.pcall('XLEN', stream))
    local result = entries and entries < 32 and redis.call('GET', stored)
    return result and string.sub(result, 1, 1) ~= '@' and result
  end
  for watcher, mode in string.gmatch(watch, '(%S+):(%a+)') do
    -- What a job with a forgotten text tells is in its own stream only, which goes with it.
    if is_last or (mode == 'all' and not forgotten) then
      local stream = shard .. 'watch:' .. watcher
      count = count or redis.call('XLEN', events)
      local entry = {'job', id, 'event', event_id, 'count', count, 'type', type, 'body', body}
      local result = mode == 'end' and result_for(stream)
      if result then entry[#entry + 1], entry[#entry + 2] = 'result', result end
      -- A key that another program wrote must not keep the job from going on.
      redis.pcall('XADD', stream, 'MAXLEN', '~', 10000, '*', unpack(entry))
      -- The stream of a process that died goes away by itself.
      redis.call('PEXPIRE', stream, 600000)
    end
  end
end

-- Append an event to the stream of a job, and tell it those who watch the job.
local function tell_one(stream, type, body)
  local function add() return redis.pcall('XADD', stream, 'MAXLEN', '~', 1000, '*', 'type', type, 'body', body) end
  local event_id = add()
  if type_is_wrong(event_id) or (event_id.err and string.find(event_id.err, 'exhausted', 1, true)) then
    redis.call('DEL', stream)
    event_id = add()
  end
  if event_id.err then error(event_id.err) end
  pass_on(stream, event_id, type, body)
end

-- Count in the shard of a job, so that a count is written with what it counts. See counts.py.
local function count(job, field, amount)
  -- Another program's key of this name must not stop the job.
  redis.pcall('HINCRBY', string.match(job, '^qm:{%x}:') .. 'counts', field, amount or 1)
end

-- Why a step was put back, and how often its workers died.
local function counts(steps, step)
  return redis.call('HMGET', steps, step .. '.deaths', step .. '.failures', step .. '.outages', step .. '.conflicts',
    step .. '.pauses')
end

-- Keep the last attempt at a step as a line of its past, because the step is put back: see attempts.py. `queued` is when the
-- step begins to wait for the next one. The last 19 lines stay. A key that another program wrote must not stop the job.
local function keep_attempt(job, steps, step, ended, cause, reason, facts, queued)
  local read = redis.call('HMGET', steps, step .. '.attempt', step .. '.queued', step .. '.started', step .. '.life', step .. '.past')
  -- The first steps of a job are queued when it is accepted.
  local since = read[2] or (read[1] == '1' and redis.call('HGET', job, 'created'))
  local line = cjson.encode({tonumber(read[1]) or 0, since, read[3], read[4] or '', string.format('%d', ended), cause, reason, facts})
  local past = read[5] and read[5] .. '\n' .. line or line
  if select(2, string.gsub(past, '\n', '')) > 18 then past = string.gsub(past, '^[^\n]*\n', '') end
  redis.call('HSET', steps, step .. '.past', past, step .. '.queued', queued)
end

-- Upper bounds in seconds, as in counts.py.
local BOUNDS = {0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

-- Note that the caller of a job is to be told of its end, if it asked for that: see callbacks.py. It is noted with the end, and
-- with all that is told, because the job may be gone before a sweeper comes by.
local function note_callback(job, state, now, body)
  local callback, id, kind, collection, owner, labels, created =
    unpack(redis.call('HMGET', job, 'callback', 'id', 'kind', 'collection', 'owner', 'labels', 'created'))
  if not callback then return end
  local asked, is_asked_for = cjson.decode(callback), false
  for _, event in ipairs(asked.events) do is_asked_for = is_asked_for or event == state end
  if not is_asked_for then return end
  local told = cjson.decode(body)
  local entry = cjson.encode({job_id = id, kind = kind, collection = collection, owner = owner or nil, state = state,
    created = tonumber(created), ended = now, callback = asked, labels = labels and cjson.decode(labels) or nil,
    complete = told.complete ~= false, code = type(told.code) == 'string' and told.code or nil})
  put_in(string.match(job, '^qm:{%x}:') .. 'callbacks', now, entry)
end

-- Count the end of a job, in all and in its minute, and have its caller told. Return its id, the state that it counts as, its
-- kind, its collection, how many ms it took, how many steps it had, and its labels.
local function count_end(job, body)
  -- A record that another program wrote may lack any of these.
  local read = redis.call('HMGET', job, 'kind', 'collection', 'created', 'order', 'state', 'left', 'id', 'lacks', 'counts_as')
  local kind, now = read[1] or 'unknown', now_ms()
  local state, ms = read[6] and 'cancelled' or read[9] or read[5], now - (tonumber(read[3]) or now)
  local bound = 'inf'
  for _, seconds in ipairs(BOUNDS) do
    if ms <= seconds * 1000 then bound = tostring(seconds) break end
  end
  -- What another program wrote there must not keep the job from its end.
  pcall(note_callback, job, read[6] and 'cancelled' or read[5], now, body)
  -- Keys of this form are read by counts.py, for the last five minutes.
  local minute = string.match(job, '^qm:{%x}:') .. 'ends:' .. string.format('%d', math.floor(now / 60000))
  for _, field in ipairs({'ended/' .. kind .. '/' .. state, state == 'done' and read[8] and 'incomplete/' .. kind or nil}) do
    count(job, field)
    redis.pcall('HINCRBY', minute, field, 1)
  end
  redis.call('PEXPIRE', minute, 600000)
  -- A cancelled job took as long as its caller liked.
  if state ~= 'cancelled' then
    count(job, 'took/' .. kind .. '/' .. bound)
    count(job, 'took_ms/' .. kind, ms)
  end
  return {read[7] or '', state, kind, read[2] or '', ms, select(2, string.gsub(read[4] or '', '%S+', '')),
    end_labels(job, read[7] or '', now), redis.call('HGET', job, 'key') or ''}
end

-- Identical work in flight is done once, by the first job: the leader. A job that joins it follows: its record names the
-- leader, and it has its own id, events, end and expiry, but no steps. All of them are in one shard. The set "callers" of the
-- leader holds the ids of those who still want the work; a job that nobody joined has no such set.

-- What the keys of a job of the same shard begin with: "qm:{shard}:id:".
local function stem_of(job, id)
  return string.match(job, '^.-}:') .. id .. ':'
end

local function own_stem(job)
  return string.sub(job, 1, -4)
end

-- Return the ids of those who want some work.
local function callers_of(key)
  local callers = redis.pcall('SMEMBERS', key)
  return type_is_wrong(callers) and {} or callers
end

-- Append an event of some work to the events of everybody who wants it.
local function tell(events, type, body)
  local callers = callers_of((string.gsub(events, 'events$', 'callers')))
  if #callers == 0 then return tell_one(events, type, body) end
  for _, caller in ipairs(callers) do tell_one(stem_of(events, caller) .. 'events', type, body) end
end

-- Whether somebody may read what is told of some work on its way. If all who wait for it wait for its end, nobody does.
local function is_followed(job)
  local callers = callers_of(own_stem(job) .. 'callers')
  if #callers == 0 then callers[1] = string.match(job, '}:(.*):job$') end
  for _, caller in ipairs(callers) do
    local watch = redis.call('HGET', stem_of(job, caller) .. 'job', 'watch')
    if not watch or string.find(watch, ':all', 1, true) then return true end
  end
  return false
end

-- Whether a result names a document, as a value or as the first part of one. Names are escaped as in JSON.
local function is_named(result, name)
  for _, written in ipairs({'"' .. name .. '"', '"' .. name .. '/', '/' .. name .. '/'}) do
    if string.find(result, written, 1, true) then return true end
  end
  return false
end

-- Return a result without the names of forgotten documents.
local function without_names(result, names)
  for _, name in ipairs(names) do
    local parts, start = {}, 1
    local first, last = string.find(result, '"' .. name .. '"', start, true)
    while first do
      parts[#parts + 1] = string.sub(result, start, first - 1) .. '"forgotten"'
      start = last + 1
      first, last = string.find(result, '"' .. name .. '"', start, true)
    end
    result = table.concat(parts) .. string.sub(result, start)
  end
  return result
end

-- Delete what the board holds of a job that is done besides its record and its end, as it may hold a forgotten text: what its
-- steps noted, and what was told on the way. Of a write, delete also what it asked, even as a hash. Its idempotency key still
-- leads to it.
local function scrub(job, is_write)
  local stem = own_stem(job)
  redis.call('DEL', stem .. 'hits', stem .. 'queries')
  redis.call('HDEL', job, 'forgotten', 'forgets')
  local key = is_write and redis.call('HGET', job, 'idempotency')
  if is_write then
    redis.call('DEL', stem .. 'request')
    redis.call('HDEL', job, 'fingerprint')
  end
  if key and redis.call('EXISTS', key) == 1 then
    redis.call('SET', key, string.match(job, '}:(.*):job$') .. ' *', 'KEEPTTL')
  end
  local fields = redis.pcall('HKEYS', stem .. 'steps')
  for _, field in ipairs(type_is_wrong(fields) and {} or fields) do
    for _, part in ipairs({'past', 'reason', 'facts', 'notes'}) do
      if string.sub(field, -#part - 1) == '.' .. part then redis.call('HDEL', stem .. 'steps', field) end
    end
  end
  -- The end stays.
  redis.pcall('XTRIM', stem .. 'events', 'MAXLEN', 1)
end

-- Note in the record of a job that is done what its last event says: that its result lacks a part.
local function note_lack(job, body)
  if string.find(body, '"complete":false', 1, true) then redis.call('HSET', job, 'lacks', 1) end
end

-- End a follower, whether or not its work goes on. Return what `count_end` returns.
local function end_alone(stem, state, reason, type, body, ttl)
  redis.call('HSET', stem .. 'job', 'state', state, 'reason', reason, 'ended', now_ms())
  note_lack(stem .. 'job', body)
  tell_one(stem .. 'events', type, body)
  for _, part in ipairs({'job', 'events', 'result'}) do redis.call('PEXPIRE', stem .. part, ttl) end
  return count_end(stem .. 'job', body)
end

-- Return the entry of a job's end, as its events have it. If they lack it, as its record tells it: another program may have
-- deleted or replaced the stream.
local function end_of(job, has_left)
  local last = redis.pcall('XREVRANGE', own_stem(job) .. 'events', '+', '-', 'COUNT', 1)[1]
  if last and is_end(last[2][2]) then return last end
  local state, reason, code, lacks = unpack(redis.call('HMGET', job, 'state', 'reason', 'code', 'lacks'))
  local event = {type = 'failed', reason = reason or '', code = code or nil}
  if has_left or state == 'cancelled' then
    event = {type = 'cancelled'}
  elseif state == 'done' then
    event = {type = 'done', complete = not lacks}
  end
  return {'0-0', {'type', event.type, 'body', cjson.encode(event)}}
end

-- Delete a follower whose work another program has deleted, because nobody would end it. Return whether that is so.
local function drop_if_lost(job)
  local leader = redis.call('HGET', job, 'leader')
  if not leader or is_over(job) or redis.call('EXISTS', stem_of(job, leader) .. 'job') == 1 then return false end
  redis.call('DEL', job, own_stem(job) .. 'events')
  return true
end

-- Whether a job has ended for its own caller, or is lost. The work of a leader may go on for the others.
local function has_ended(job)
  return drop_if_lost(job) or is_over(job) or redis.call('HEXISTS', job, 'left') == 1
end

-- Return the result of a job for its own caller and, if it is shared, the id of the leader that it names.
local function result_of(job, result)
  if redis.call('HEXISTS', job, 'left') == 1 then return false end
  local own = redis.call('GET', result)
  local leader = string.match(own or '', '^@(.+)$')
  if not leader then return own end
  local work = stem_of(job, leader)
  local shared = redis.call('GET', work .. 'shared') or redis.call('GET', work .. 'result')
  return shared and relabelled(shared, (labels_of(work .. 'job')), (labels_of(job))), leader
end

-- Return the queue that a step of a job waits on, or nil if the record does not say.
local function queue_of(job, step)
  local queues = ' ' .. (redis.call('HGET', job, 'queues') or '')
  local _, stop = string.find(queues, ' ' .. step .. '=', 1, true)
  return stop and string.match(queues, '^%S+', stop + 1)
end

-- Note in the sets of its queue that a step waits or runs, since when (ms), or with no place that it does neither. They are
-- counted by queue_work.lua. A step that is put back for a while waits from a later moment on.
local function note_place(job, step, place, since, queue)
  local shard, id = string.match(job, '^(.-}:)(.*):job$')
  queue = queue or queue_of(job, step)
  if not queue then return end
  for _, each in ipairs({'waiting', 'running'}) do
    local key, entry = shard .. each .. ':' .. queue, id .. ' ' .. step
    -- Another program's key of this name must not stop the job.
    if each == place then redis.pcall('ZADD', key, since, entry) else redis.pcall('ZREM', key, entry) end
  end
end

-- Note that no step of a job waits or runs any more.
local function leave_places(job)
  local shard, id = string.match(job, '^(.-}:)(.*):job$')
  local steps_of = {}
  for step, queue in string.gmatch(redis.call('HGET', job, 'queues') or '', '(%S+)=(%S+)') do
    steps_of[queue] = steps_of[queue] or {}
    table.insert(steps_of[queue], id .. ' ' .. step)
  end
  for queue, entries in pairs(steps_of) do
    -- Thousands of steps are too many for one call.
    for first = 1, #entries, 1000 do
      local some = {unpack(entries, first, math.min(first + 999, #entries))}
      for _, place in ipairs({'waiting:', 'running:'}) do redis.pcall('ZREM', shard .. place .. queue, unpack(some)) end
    end
  end
end

-- Take a step that runs out of the set of what its worker holds.
local function let_go(due, steps, id, step)
  local read = redis.call('HMGET', steps, step .. '.state', step .. '.life', step .. '.attempt')
  if read[1] == 'running' and read[2] and read[2] ~= '' then
    redis.pcall('SREM', string.gsub(due, 'due$', 'held:') .. read[2], id .. ' ' .. step .. ' ' .. read[3])
  end
end

-- What closes a step, in ARGV from `first`: step attempt state reason facts event notes (query packed_hits)...
-- Whether that attempt still holds the step: the fence.
local function is_held(steps, first)
  local state, attempt = unpack(redis.call('HMGET', steps, ARGV[first] .. '.state', ARGV[first] .. '.attempt'))
  return state == 'running' and attempt == ARGV[first + 1]
end

-- Close the step, and keep what its attempt found and noted.
local function close_step(steps, events, hits, first)
  local step, state, reason, facts, event, notes = ARGV[first], unpack(ARGV, first + 2, first + 6)
  redis.call('HSET', steps, step .. '.state', state, step .. '.reason', reason, step .. '.ended', now_ms(), step .. '.facts', facts)
  if notes ~= '' then redis.call('HSET', steps, step .. '.notes', notes) end
  for i = first + 7, #ARGV, 1000 do redis.call('HSET', hits, unpack(ARGV, i, math.min(i + 999, #ARGV))) end
  tell(events, 'stage_finished', event)
end

-- Return the latest turn that was taken among jobs that supersede each other, and the latest with which one was accepted. What
-- another program wrote there is deleted.
local function turns_of(turn)
  local read = redis.pcall('GET', turn)
  if type_is_wrong(read) then redis.call('DEL', turn) end
  local taken, accepted = string.match(type(read) == 'string' and read or '', '^(%d+) (%d+)$')
  return tonumber(taken) or 0, tonumber(accepted) or 0
end

-- Note that a step waits again: the bells of its earlier attempts were heard, and the sweeper does not wait longer because of them.
local function forget_rings(stem, step) redis.pcall('HDEL', stem .. 'rings', step) end

-- Note that a first bell is rung for the steps of a queue that nobody has tried. The sweeper rings no second one while the
-- queue may still hold it. "@queue" is when the last bell was rung, "^queue" when the first was; for the first steps of a job
-- both are its creation. "@step" is when the last bell was rung for a step that was tried before.
local function note_bell(job, queue)
  local rings = string.gsub(job, 'job$', 'rings')
  local now = now_ms()
  redis.call('HSET', rings, '@' .. queue, now, '^' .. queue, now)
  redis.call('PEXPIRE', rings, 3600000)
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
