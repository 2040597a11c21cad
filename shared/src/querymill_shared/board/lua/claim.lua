-- Claim a step, and up to `most` - 1 further steps of its queue that nobody has tried yet, unless the job has ended or is
-- past its deadline, or the named step is closed or held, or the life has ended (see put_back.lua), or is not on the list of
-- those that others bury (see admit.lua), or the version of the write is to be decided first (see decide.lua). What a life claims is in its set until it is closed or put back.
-- KEYS job steps events due request held lives
-- ARGV job_id step lease_ms life most
local job, steps, events, due, request, held, lives = unpack(KEYS)
local id, step, lease, life, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local its_state, its_deadline, its_queues, created, replayed, accepted, order, asked, trace, labels, owner =
  unpack(redis.call('HMGET', job, 'state', 'deadline', 'queues', 'created', 'replayed', 'accepted', 'order', 'asked', 'trace',
    'labels', 'owner'))
if is_final(its_state) then return {'over'} end

local now = now_ms()
local deadline = tonumber(its_deadline)
if deadline > 0 and now >= deadline then return {'late'} end
if life ~= '' and redis.pcall('SISMEMBER', lives, life) ~= 1 then
  return {redis.pcall('SISMEMBER', held, OVER) == 1 and 'ended' or 'unlisted'}
end

local state = redis.call('HGET', steps, step .. '.state')
if not state then return {'unknown'} end
if state == 'done' or state == 'failed' then return {'closed'} end
local is_running = state == 'running'
if is_running and tonumber(redis.call('HGET', steps, step .. '.lease')) > now then return {'held'} end
if whole(asked) then
  local _, question, confirmed, _, base = read_versions()
  local number = math.min(whole(asked), question or 0)  -- a larger one was written by another program
  if number > (confirmed or 0) then return {'asked', number, string.format('%.0f', base or 0)} end
  local raised = question and whole(redis.call('HGET', CLOCK, string.format('raised/%.0f', number)))
  if raised and whole(accepted) then accepted = string.format('%.0f', accepted + raised) end
end
if is_running then
  -- Its worker has died or hangs.
  add_one(steps, step .. '.deaths')
  keep_attempt(job, steps, step, now, 'deaths', 'its lease ran out', '', now)
  count(job, 'leases_lost')
end

local queues = ' ' .. (its_queues or '') .. ' '
local start, stop = string.find(queues, ' ' .. step .. '=', 1, true)
local queue = start and string.match(queues, '^%S+', stop + 1)
local claimed = {}
local function hold(name)
  local attempt = add_one(steps, name .. '.attempt')
  redis.call('HSET', steps, name .. '.state', 'running', name .. '.lease', now + lease, name .. '.started', now,
    name .. '.life', life)
  put_in(due, now + lease, id .. ' ' .. name)
  if queue then note_place(job, name, 'running', now, queue) end
  if life ~= '' then add_to(held, id .. ' ' .. name .. ' ' .. attempt) end
  tell(events, 'stage_started', cjson.encode({type = 'stage_started', stage = name, attempt = attempt}))
  claimed[#claimed + 1] = {name, attempt, attempt > 1 and counts(steps, name) or {}}
end

hold(step)
redis.call('HSET', job, 'state', 'running')
-- A step that was tried before may wait on purpose. Its own bell says when to try it again.
local left = ''
for name, its_queue in string.gmatch(queue and queues or '', '(%S+)=(%S+)') do
  local read = its_queue == queue and name ~= step
    and redis.call('HMGET', steps, name .. '.state', name .. '.attempt', name .. '.left')
  if read and read[1] == 'waiting' and read[2] == '0' and not read[3] then
    if #claimed == most then
      left = name
      note_bell(job, queue)
      break
    end
    hold(name)
  end
end
if queue then count(job, 'claimed/' .. queue, #claimed) end
local since = tonumber(replayed or created)
local is_alone = order == step and claimed[1][2] == 1 and not replayed
return {'claimed', claimed, deadline > 0 and deadline - now or -1, redis.call('GET', request) or '', created, left,
  now - since, accepted or '0', is_alone and now or 0, ahead_ms(), trace or '', labels or '', owner or ''}
