-- Count requests of an API key, unless they are too many. What waits or streams takes a place as well.
-- The rate is that of a sliding minute: the share of the former window that it still covers, and the present window.
-- KEYS windows places
-- ARGV limit(0: none) window_ms concurrency(0: none) place("": takes none) lease_ms requests
-- Returns outcome(0 admitted, 1 rate, 2 concurrency) remaining reset_ms
local windows, places = KEYS[1], KEYS[2]
local limit, window, most, place, lease = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local requests = tonumber(ARGV[6])
local now = now_ms()
local present = math.floor(now / window)
local left = window - now % window
local used, former = 0, 0
-- Another program may have written over either, or over a count in it.
drop_unless('hash', windows)
drop_unless('zset', places)
if limit > 0 then
  used = whole(redis.call('HGET', windows, tostring(present))) or 0
  former = whole(redis.call('HGET', windows, tostring(present - 1))) or 0
  local counted = used + former * left / window
  if counted + requests > limit then
    -- After how long the former window's share is small enough; else the present one must end first.
    local wait = left
    if former > 0 and used + requests <= limit then wait = math.ceil(left - (limit - requests - used) * window / former) end
    return {1, 0, math.max(wait, 1)}
  end
end
if most > 0 and place ~= '' then
  redis.call('ZREMRANGEBYSCORE', places, '-inf', now)
  -- No lease ends so late. Twice the lease: the clocks of a cluster's servers differ.
  redis.call('ZREMRANGEBYSCORE', places, string.format('(%.0f', now + 2 * lease), '+inf')
  if redis.call('ZCARD', places) >= most then return {2, math.max(0, math.floor(limit - used - former * left / window)), 1000} end
  redis.call('ZADD', places, now + lease, place)
  redis.call('PEXPIRE', places, lease)
end
if limit == 0 then return {0, 0, 0} end
redis.call('HSET', windows, tostring(present), string.format('%.0f', used + requests))
redis.call('HDEL', windows, tostring(present - 2), tostring(present - 3))
redis.call('PEXPIRE', windows, 3 * window)
return {0, math.max(0, math.floor(limit - used - requests - former * left / window)), left}
