-- Delete an ended job before its result expires. A job that has not ended stays. What followers still want of it stays too.
-- Its trail stays if it has a label or an idempotency key, by which somebody may look for it.
-- KEYS job steps events hits queries request result
local job, result = KEYS[1], KEYS[7]
local read = redis.call('HMGET', job, 'id', 'leader', 'left', 'released')
local id, leader, left, released = unpack(read)
if not id or released or not (left or is_over(job)) then return 0 end
local work = leader and stem_of(job, leader) or own_stem(job)
redis.call('SREM', work .. 'callers', id)
local is_wanted = redis.call('SCARD', work .. 'callers') > 0
if not leader and is_wanted then
  redis.call('HSET', job, 'released', 1)
  if redis.call('EXISTS', result) == 1 then
    redis.call('SET', work .. 'shared', redis.call('GET', result), 'PX', math.max(redis.call('PTTL', result), 1))
    redis.call('DEL', result)
  end
  return 1
end
if redis.call('HEXISTS', job, 'marks') == 0 then
  redis.call('DEL', own_stem(job) .. 'trail')
  redis.pcall('ZREM', shard_of(job) .. 'trails', id)
end
redis.call('DEL', unpack(KEYS))
local shard = string.match(job, '^.-}:')
redis.pcall('ZREM', shard .. 'dead', id)
redis.pcall('ZREM', shard .. 'recent', id)
if not leader or (not is_wanted and redis.call('HEXISTS', work .. 'job', 'released') == 1) then
  for _, part in ipairs({'job', 'steps', 'events', 'hits', 'queries', 'request', 'result', 'shared', 'callers'}) do
    redis.call('DEL', work .. part)
  end
end
return 1
