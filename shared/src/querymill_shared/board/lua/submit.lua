-- Write the record, its steps and their due entries at once, and push the bells. An idempotency key returns its first job
-- instead. If identical work is in flight, the job follows it. A job that no worker can begin before its deadline is refused,
-- with the time (ms) that it would wait.
-- KEYS job steps events due recent request idempotency inflight corpus [queue...]
-- ARGV job_id fingerprint kind collection lane request deadline_ms margin_ms grace_ms idempotency_ttl_ms reads(0|1) join_ms
--   follower_ttl_ms queued_event is_ordered(0|1) traceparent beside listed_ms backlog_ms [bell of each queue...] step=queue...
local job, steps, events, due, recent, request, idempotency, inflight, corpus = unpack(KEYS)
local id, fingerprint = ARGV[1], ARGV[2]
local idempotency_ttl, join_ms = tonumber(ARGV[10]), tonumber(ARGV[12])
local bells = #KEYS - 9
local first = 20 + bells
local now = now_ms()

local function list_and_count()
  put_in(recent, now, id)
  redis.call('ZREMRANGEBYRANK', recent, 0, -1001)
  count(job, 'submitted/' .. ARGV[3])
end

-- Whether no attempt at any step has done more than to put the step back, because another was in its way or to wait for more.
local function has_not_begun(stem)
  for step in string.gmatch(redis.call('HGET', stem .. 'job', 'order') or '', '%S+') do
    local state, attempt, conflicts, pauses = unpack(redis.call('HMGET', stem .. 'steps', step .. '.state',
      step .. '.attempt', step .. '.conflicts', step .. '.pauses'))
    local put_back = (tonumber(conflicts) or 0) + (tonumber(pauses) or 0)
    if state ~= 'waiting' or (tonumber(attempt) or 1) > put_back then return false end
  end
  return true
end

-- Whether no other program has written over the keys of that work, so that one can follow it.
local function is_sound(stem)
  for part, kind in pairs({job = 'hash', steps = 'hash', events = 'stream'}) do
    if redis.call('TYPE', stem .. part).ok ~= kind then return false end
  end
  local callers = redis.call('TYPE', stem .. 'callers').ok
  return callers == 'set' or callers == 'none'
end

-- Whether the same question asked now has the answer of that work: it is still the same day, and the work reads what the
-- collection holds now.
local function is_joinable(stem, is_same_version)
  if not is_sound(stem) or is_over(stem .. 'job') then return false end
  -- Another program may have named other work.
  local its, owner = unpack(redis.call('HMGET', stem .. 'job', 'fingerprint', 'owner'))
  if (its or '') .. (owner or '') ~= string.match(inflight, 'inflight:(.*)$') then return false end
  -- It may have read what was forgotten since.
  if redis.call('HEXISTS', stem .. 'job', 'forgotten') == 1 then return false end
  local day = math.floor((tonumber(redis.call('HGET', stem .. 'job', 'created')) or 0) / 86400000)
  return day == math.floor(now / 86400000) and (is_same_version or has_not_begun(stem))
end

-- Tell a follower what happened so far, and note that it wants the work.
local function follow(leader)
  local work = stem_of(job, leader)
  redis.call('HSET', job, 'id', id, 'kind', ARGV[3], 'collection', ARGV[4], 'lane', ARGV[5], 'state', 'queued',
    'fingerprint', fingerprint, 'created', now, 'deadline', redis.call('HGET', work .. 'job', 'deadline') or 0, 'open', 0,
    'leader', leader, 'order', '')
  -- A leader whose caller has left hears nothing more: those who still want the work do.
  local heard = redis.call('HEXISTS', work .. 'job', 'left') == 1 and callers_of(work .. 'callers')[1] or leader
  for _, entry in ipairs(redis.call('XRANGE', stem_of(job, heard) .. 'events', '-', '+')) do
    local type, body = entry[2][2], entry[2][4]
    -- The leader's own end, if its caller has left, is not the end of the work.
    if body and type ~= 'cancelled' then tell_one(events, type, body) end
  end
  local callers = work .. 'callers'
  if redis.call('EXISTS', callers) == 0 then redis.call('SADD', callers, leader) end
  redis.call('SADD', callers, id)
  note_beside(job, id, now, ARGV[17], tonumber(ARGV[18]))
  for _, key in ipairs({job, events, callers}) do redis.call('PEXPIRE', key, ARGV[13]) end
  list_and_count()
end

-- The versions of what the job's collections hold: most jobs have one. Of a collection that nothing was noted of, it is when that
-- list began ("" in it): another program may have deleted it, or written over it.
local function versions_of(collections)
  local began = redis.pcall('HGET', corpus, '')
  if type_is_wrong(began) then redis.call('DEL', corpus) end
  if not whole(began) then
    began = string.format('%.0f', read_clock())
    redis.call('HSET', corpus, '', began)
  end
  local found = {}
  for collection in string.gmatch(collections, '[^,]+') do
    found[#found + 1] = redis.call('HGET', corpus, collection) or began
  end
  return table.concat(found, ',')
end

if is_there(job) then return {'existing', id} end
if idempotency_ttl > 0 then
  local prior = known_of(idempotency) or ''
  local prior_id, prior_fingerprint = string.match(prior, '^(%S+) (%S+)')
  if prior_id and string.sub(prior_id, 1, 1) ~= string.sub(id, 1, 1) then return {'elsewhere', prior} end
  -- A key lives no longer than its job: if that has expired or was released, the work starts again.
  if prior_id and is_there(stem_of(job, prior_id) .. 'job') then
    -- What the first job asked is not known any more if its document was forgotten: see scrub_job.lua.
    local is_same = prior_fingerprint == fingerprint or prior_fingerprint == '*'
    return {is_same and 'existing' or 'conflict', prior_id}
  end
end

local version
if join_ms > 0 then
  version = versions_of(ARGV[4])
  local known = redis.pcall('GET', inflight)
  local leader, its_version = string.match(type(known) == 'string' and known or '', '^(%S+) (%S+)$')
  -- After a step back of the server's clock, this would outlive the time in which work is joined.
  if leader and redis.call('PTTL', inflight) > join_ms then leader = nil end
  if leader and is_joinable(stem_of(job, leader), its_version == version) then
    redis.call('SET', inflight, leader .. ' ' .. version, 'KEEPTTL')
    follow(leader)
    return {'joined', id}
  end
end

local shard = string.match(job, '^qm:{%x}:')
local deadline = tonumber(ARGV[7])

-- Up to 64 of the steps that wait in this shard, spread over the queue: their collections, with how many of them are of each,
-- how many they are, and in how many ms the last of their jobs is over, nil if one has no deadline.
local function sample_of(waiting, here)
  local tally, size, last = {}, math.min(here, 64), 0
  for i = 0, size - 1 do
    local at = math.floor(i * here / size)
    local id = string.match(redis.call('ZRANGE', waiting, at, at)[1] or '', '^(%S+) ')
    local its, ends = unpack(redis.pcall('HMGET', shard .. (id or '') .. ':job', 'collection', 'deadline'))
    tally[its or ''] = (tally[its or ''] or 0) + 1
    ends = tonumber(ends) or 0
    last = last and ends > 0 and math.max(last, ends - now) or nil
  end
  return tally, size, last
end

-- In how many ms a new step of the collection begins on a queue, and until when it is worth to wait for that. Of the whole
-- queue is known what waited at the last look; what came to this shard since, as well came to each of the 16, and the share
-- that is left here is left of each. Those threads that let steps past those of a collection with many serve the steps of
-- collections with no more than this one has.
local function wait_at_pace(queue, told)
  local waited, here_then, per_s, spare = string.match(told, '^(%S+) (%S+) (%S+) (%S+)$')
  waited, here_then, per_s, spare = tonumber(waited), tonumber(here_then), tonumber(per_s), tonumber(spare)
  local waiting = shard .. 'waiting:' .. queue
  local here = tonumber((redis.pcall('ZCOUNT', waiting, '-inf', now)))
  if not (waited and here_then and spare and here) or (per_s or 0) <= 0 then return nil end
  -- Two come and go by chance.
  local all = waited + 16 * math.max(here - here_then - 2, 0)
  if here < here_then then all = waited * math.min((here + 2) / here_then, 1) end
  local wait = all / per_s * 1000
  if wait <= deadline or here == 0 then return wait, wait end
  local tally, size, last = sample_of(waiting, here)
  local own, no_more = tally[ARGV[4]] or 0, 0
  for _, count in pairs(tally) do no_more = no_more + (count <= own and count or 0) end
  if spare > 0 then wait = math.min(wait, (no_more / size * all + 1) / (per_s * spare) * 1000) end
  return wait, math.min(wait, last or wait)
end

-- The shortest wait of its queues, as far as the elected worker has lately reported on them, and after how long to ask again.
local function expected_wait()
  local shortest, again = nil, 0
  -- After a step back of the server's clock, or if another program wrote it, the report would refuse jobs for long.
  local left = redis.call('PTTL', shard .. 'backlog')
  if left < 0 or left > tonumber(ARGV[19]) then return 0, 0 end
  for i = first, #ARGV do
    local queue = string.match(ARGV[i], '=(.+)$') or ''
    local noted, told = unpack(redis.pcall('HMGET', shard .. 'backlog', queue, 'pace:' .. queue))
    local wait, after
    if told then wait, after = wait_at_pace(queue, told) end
    if not wait then
      wait = tonumber(noted or 0) or 0
      after = wait
    end
    if not shortest or wait < shortest then shortest, again = wait, after end
  end
  return shortest or 0, again
end

if deadline > 0 then
  local wait, again = expected_wait()
  if wait > deadline then return {'late', tostring(again)} end
end
if version then redis.call('SET', inflight, id .. ' ' .. version, 'PX', join_ms) end
if idempotency_ttl > 0 then
  redis.call('SET', idempotency, id .. ' ' .. fingerprint, 'PX', idempotency_ttl)
  redis.call('HSET', job, 'idempotency', idempotency)
end
-- When a job is accepted, in µs: two that a client submits one after the other are told apart. That of a write is its version.
local accepted, asked = read_clock(), nil
if ARGV[15] == '1' then accepted, asked = next_version() end
if asked then redis.call('HSET', job, 'asked', asked) end
if ARGV[16] ~= '' then redis.call('HSET', job, 'trace', ARGV[16]) end
redis.call('HSET', job, 'id', id, 'kind', ARGV[3], 'collection', ARGV[4], 'lane', ARGV[5], 'state', 'queued',
  'fingerprint', fingerprint, 'created', now, 'accepted', string.format('%.0f', accepted), 'deadline', deadline > 0 and now + deadline or 0,
  'open', #ARGV - first + 1, 'first', #ARGV - first + 1, 'reads', ARGV[11],
  -- Which queue each step waits on.
  'queues', table.concat(ARGV, ' ', first),
  -- A larger hash does not keep the order of its fields.
  'order', (string.gsub(table.concat(ARGV, ' ', first), '=%S+', '')))
note_beside(job, id, now, ARGV[17], tonumber(ARGV[18]))
redis.call('SET', request, ARGV[6])
put_in((string.gsub(due, 'due$', 'open')), now, id)
for i = first, #ARGV do
  local step, queue = string.match(ARGV[i], '^([^=]+)=?(.*)$')
  redis.call('HSET', steps, step .. '.state', 'waiting', step .. '.attempt', 0)
  if queue ~= '' then note_place(job, step, 'waiting', now, queue) end
  -- It is queued when it is accepted, unless the version says another time.
  if accepted ~= read_clock() then redis.call('HSET', steps, step .. '.queued', now) end
  put_in(due, now + tonumber(ARGV[9]), id .. ' ' .. step)
end
if deadline > 0 then
  put_in(due, now + deadline - math.min(tonumber(ARGV[8]), deadline / 2), id .. ' @deadline')
end
list_and_count()
tell_one(events, 'queued', ARGV[14])
local failed = 0
for i = 1, bells do
  -- A queue's key that another program wrote must not keep the other bells from being pushed.
  if type(redis.pcall('LPUSH', KEYS[9 + i], ARGV[19 + i])) ~= 'number' then failed = failed + 1 end
end
return {'created', id, failed}
