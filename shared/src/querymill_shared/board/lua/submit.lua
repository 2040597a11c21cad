-- Write the record, its steps and their due entries at once. A known idempotency key returns the first job instead.
-- KEYS job steps events due recent request idempotency
-- ARGV job_id fingerprint kind collection lane request deadline_ms margin_ms grace_ms idempotency_ttl_ms queued_event step...
local job, steps, events, due, recent, request, idempotency = unpack(KEYS)
local id, fingerprint = ARGV[1], ARGV[2]
local idempotency_ttl = tonumber(ARGV[10])

if idempotency_ttl > 0 then
  local prior = redis.call('GET', idempotency)
  if prior then
    local prior_id, prior_fingerprint = string.match(prior, '^(%S+) (%S+)$')
    return {prior_fingerprint == fingerprint and 'existing' or 'conflict', prior_id}
  end
  redis.call('SET', idempotency, id .. ' ' .. fingerprint, 'PX', idempotency_ttl)
end

local now = now_ms()
local deadline = tonumber(ARGV[7])
redis.call('HSET', job, 'id', id, 'kind', ARGV[3], 'collection', ARGV[4], 'lane', ARGV[5], 'state', 'queued',
  'fingerprint', fingerprint, 'created', now, 'deadline', deadline > 0 and now + deadline or 0, 'open', #ARGV - 11,
  -- A larger hash does not keep the order of its fields.
  'order', table.concat(ARGV, ' ', 12))
redis.call('SET', request, ARGV[6])
for i = 12, #ARGV do
  redis.call('HSET', steps, ARGV[i] .. '.state', 'waiting', ARGV[i] .. '.attempt', 0)
  redis.call('ZADD', due, now + tonumber(ARGV[9]), id .. ' ' .. ARGV[i])
end
if deadline > 0 then
  redis.call('ZADD', due, now + deadline - math.min(tonumber(ARGV[8]), deadline / 2), id .. ' @deadline')
end
redis.call('ZADD', recent, now, id)
redis.call('ZREMRANGEBYRANK', recent, 0, -1001)
tell(events, 'queued', ARGV[11])
return {'created', id}
