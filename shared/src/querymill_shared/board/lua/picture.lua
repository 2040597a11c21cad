-- Return the whole job. That of a follower is the work of its leader, under its own id.
-- KEYS job steps hits queries request
local job = KEYS[1]
drop_if_lost(job)
local leader = redis.call('HGET', job, 'leader')
local work = leader and stem_of(job, leader) or own_stem(job)
if leader and redis.call('EXISTS', work .. 'job') == 0 then
  leader, work = nil, own_stem(job)
end
local shown = picture({job = work .. 'job', steps = work .. 'steps', hits = work .. 'hits', queries = work .. 'queries'})
local record = shown[1]
-- A field that comes again replaces the first.
local function put(field, value)
  if value then record[#record + 1], record[#record + 2] = field, value end
end
if leader then
  for _, field in ipairs({'id', 'created', 'deadline', 'leader'}) do put(field, redis.call('HGET', job, field)) end
  for _, field in ipairs({'labels', 'owner', 'callback', 'deliveries'}) do put(field, redis.call('HGET', job, field) or '') end
  put('left', '')
  put('released', '')
  if is_over(job) then
    for _, field in ipairs({'state', 'reason', 'ended'}) do put(field, redis.call('HGET', job, field)) end
  end
end
if #record > 0 then put('callers', redis.call('SCARD', work .. 'callers')) end
return {shown, redis.call('GET', work .. 'request') or ''}
