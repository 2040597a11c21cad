-- End a job once: the first verdict wins, whatever it is. A caller that cancels work which others want ends alone.
-- With a step to close, end the job only if that attempt holds the step and no other is open.
-- A job that changed what its collection holds is not ended before that is noted in every shard: return the collection.
-- Otherwise return all that ended: id, state, kind, collection, ms, steps, labels, idempotency key in another slot.
-- KEYS job steps events due hits queries request result
-- ARGV job_id state reason result event_type event ttl_ms keep_request(0|1) noted(0|1) readable_ms
--   code kept_request_bytes counts_as trail_ms most_trails [step attempt state reason facts event notes (query packed_hits)...]
local job, steps, events, due, hits, queries, request, result = unpack(KEYS)
-- Keep a key until its time is up, in the form of a key that was just loaded. A stream that grows takes 4 KB for its first
-- entry, and a hash that has held a long text takes more than twice as much without it.
local function keep_small(key, ttl)
  local dump = redis.pcall('DUMP', key)
  local restored = type(dump) == 'string' and redis.pcall('RESTORE', key, ttl, dump, 'REPLACE')
  if not restored or restored.err then redis.call('PEXPIRE', key, ttl) end
end

local id, ttl, closes = ARGV[1], tonumber(ARGV[7]), ARGV[16]
local trail_ms, most_trails = tonumber(ARGV[14]), tonumber(ARGV[15])
local its_state, open, leader, collection, reads, forgotten, forgets =
  unpack(redis.call('HMGET', job, 'state', 'open', 'leader', 'collection', 'reads', 'forgotten', 'forgets'))
if is_final(its_state) then return 0 end
if closes and not (open == '1' and is_held(steps, 16)) then return 0 end
-- A job that holds a forgotten text stays no longer than those who wait for it need to read how it ended. But how a write
-- ended stays, without the names of what was forgotten, and so does a search that found nothing of it: its record says which
-- documents those are. One that holds it in part has a request without it by now, which is kept if the job was not done.
local answer = ARGV[4]
local function is_without()
  if ARGV[2] ~= 'done' or not forgets then return false end
  local known = cjson.decode(forgets)
  if known.write then
    answer = without_names(answer, known.names)
    return true, true
  end
  for _, name in ipairs(known.names) do
    if is_named(answer, name) then return false end
  end
  return true
end
local function holds_forgotten()
  return forgotten and not is_without() and (forgotten ~= 'in part' or ARGV[2] == 'done')
end
if holds_forgotten() then ttl = tonumber(ARGV[10]) end
-- What ends now: this job, and those that follow it.
local found = {}
local now = now_ms()

if leader or ARGV[2] == 'cancelled' then
  local work = leader and stem_of(job, leader) or own_stem(job)
  local has_left = redis.call('HEXISTS', job, 'left') == 1
  local was_caller = redis.pcall('SREM', work .. 'callers', id) == 1
  local is_wanted = #callers_of(work .. 'callers') > 0
  if leader then
    found[1] = end_alone(own_stem(job), ARGV[2], ARGV[3], ARGV[5], ARGV[6], ttl)
    write_trail(job, id, trail_ms, most_trails, ttl)
  elseif has_left then
    return 0
  elseif is_wanted then
    redis.call('HSET', job, 'left', now)
    tell_one(events, ARGV[5], ARGV[6])
    found[1] = count_end(job, ARGV[6])
  end
  if is_wanted or (leader and not was_caller) or is_over(work .. 'job') then return found end
  if leader then
    id, job, steps, events, hits = leader, work .. 'job', work .. 'steps', work .. 'events', work .. 'hits'
    queries, request, result = work .. 'queries', work .. 'request', work .. 'result'
    reads, forgotten, forgets = unpack(redis.call('HMGET', job, 'reads', 'forgotten', 'forgets'))
    if holds_forgotten() then ttl = tonumber(ARGV[10]) end
  end
elseif ARGV[2] == 'done' and ARGV[9] == '0' and reads ~= '1' and collection then
  return collection
end

local released, left, idempotency = unpack(redis.call('HMGET', job, 'released', 'left', 'idempotency'))
local record = {'state', ARGV[2], 'reason', ARGV[3], 'ended', now}
if closes then
  let_go(due, steps, id, closes)
  close_step(steps, events, hits, 16)
  record[#record + 1], record[#record + 2] = 'open', 0
end
if ARGV[11] ~= '' then record[#record + 1], record[#record + 2] = 'code', ARGV[11] end
if ARGV[13] ~= '' then record[#record + 1], record[#record + 2] = 'counts_as', ARGV[13] end
redis.call('HSET', job, unpack(record))
note_lack(job, ARGV[6])
local shared, callers = own_stem(job) .. 'shared', own_stem(job) .. 'callers'
local is_scrubbed, is_write = is_without()
if answer ~= '' then
  redis.call('SET', released and shared or result, relabelled(answer, nil, (labels_of(job))))
end
if not left then
  tell_one(events, ARGV[5], ARGV[6])
  found[#found + 1] = count_end(job, ARGV[6])
end
local fields = redis.pcall('HKEYS', steps)
local entries, noted = {id .. ' @deadline', id .. ' @settle'}, {}
for _, field in ipairs(type_is_wrong(fields) and {} or fields) do
  local step = string.match(field, '^(.*)%.state$')
  if step then
    entries[#entries + 1] = id .. ' ' .. step
    if step ~= closes then let_go(due, steps, id, step) end
    noted[#noted + 1] = step .. '.notes'
    noted[#noted + 1] = step .. '.lease'
  end
end
-- Thousands of steps are too many for one call.
local function remove(command, key, members)
  for first = 1, #members, 1000 do
    redis.pcall(command, key, unpack(members, first, math.min(first + 999, #members)))
  end
end
remove('ZREM', due, entries)
leave_places(job)
-- What the steps of a job that is done found and noted is in its result.
if ARGV[2] == 'done' then remove('HDEL', steps, noted) end
redis.pcall('ZREM', string.gsub(due, 'due$', 'open'), id)
if ARGV[2] == 'dead' and not holds_forgotten() then
  local dead = string.gsub(due, 'due$', 'dead')
  put_in(dead, now, id)
  redis.pcall('ZREMRANGEBYSCORE', dead, '-inf', now - ttl)  -- their records have expired
end
write_trail(job, id, trail_ms, most_trails, ttl)
-- What was asked stays with its result. What was ingested does not, nor do long texts to embed or to rank.
local function is_kept()
  local bytes = reads == '1' and redis.pcall('STRLEN', request)
  return type(bytes) == 'number' and bytes <= tonumber(ARGV[12])
end
if ARGV[8] == '0' and not is_kept() then redis.call('DEL', request) end
if is_scrubbed then scrub(job, is_write) end
local function keep(names)
  for _, key in ipairs(names) do redis.call('PEXPIRE', key, ttl) end
end
if ARGV[2] == 'done' then
  redis.call('DEL', hits, queries)
  redis.call('HDEL', job, 'queues', 'told')
else
  keep({hits, queries})
end
keep({request, result, shared, callers})
-- A job that ends with its only step drops no long text.
if closes then keep({job, steps}) end
for _, key in ipairs(closes and {events} or {job, steps, events}) do keep_small(key, ttl) end
if idempotency then redis.call('PEXPIRE', idempotency, ttl) end
redis.call('DEL', own_stem(job) .. 'rings')
-- Nobody joins work that is over: forget that it is in flight, unless that is other work by now.
local function forget_in_flight()
  local fingerprint, owner = unpack(redis.call('HMGET', job, 'fingerprint', 'owner'))
  local inflight = string.match(job, '^qm:{%x}:') .. 'inflight:' .. (fingerprint or '') .. (owner or '')
  local known = redis.pcall('GET', inflight)
  if type(known) == 'string' and string.match(known, '^%S+') == id then redis.call('DEL', inflight) end
end
if reads == '1' then forget_in_flight() end
-- End a follower as its work has ended. The leader alone is the dead letter.
local function end_with_leader(stem)
  if redis.call('HGET', stem .. 'job', 'leader') ~= id or is_over(stem .. 'job') then return end
  if answer ~= '' then redis.call('SET', stem .. 'result', '@' .. id) end
  if ARGV[13] ~= '' then redis.call('HSET', stem .. 'job', 'counts_as', ARGV[13]) end
  local state = ARGV[2] == 'dead' and 'failed' or ARGV[2]
  found[#found + 1] = end_alone(stem, state, ARGV[3], ARGV[5], ARGV[6], ttl)
  write_trail(stem .. 'job', string.match(stem, '}:(.*):$'), trail_ms, most_trails, ttl)
  if is_scrubbed then redis.pcall('XTRIM', stem .. 'events', 'MAXLEN', 1) end
end
for _, caller in ipairs(callers_of(callers)) do
  if caller ~= id then end_with_leader(stem_of(job, caller)) end
end
return found
