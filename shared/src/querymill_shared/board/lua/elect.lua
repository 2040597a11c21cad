-- Elect who sweeps a shard, for a term. A key that another program wrote, which may never expire, gets a term as well.
-- KEYS sweeper
-- ARGV candidate term_ms
local sweeper, candidate, term = KEYS[1], ARGV[1], tonumber(ARGV[2])
local elected = redis.pcall('GET', sweeper)
if elected == candidate then return redis.call('PEXPIRE', sweeper, term) end
if not elected then
  redis.call('SET', sweeper, candidate, 'PX', term)
  return 1
end
local left = redis.call('PTTL', sweeper)
if left < 0 or left > term then redis.call('PEXPIRE', sweeper, term) end
return 0
