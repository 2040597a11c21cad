-- Return the record of a job, that of a follower with the state of the work, and the ids of its first and its last event.
-- KEYS job events
local job, events = KEYS[1], KEYS[2]
drop_if_lost(job)
local record = redis.call('HGETALL', job)
local leader = redis.call('HGET', job, 'leader')
if leader and not is_over(job) then
  -- A field that comes again replaces the first.
  record[#record + 1], record[#record + 2] = 'state', redis.call('HGET', stem_of(job, leader) .. 'job', 'state')
end
local first = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
local last = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
return {record, first and first[1] or '', last and last[1] or ''}
