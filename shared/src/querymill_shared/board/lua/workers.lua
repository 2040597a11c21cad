-- Return the clock, the worker processes with the time of their last beat, and what they are.
-- KEYS workers about
local workers, about = unpack(KEYS)
return {now_ms(), redis.call('ZRANGE', workers, 0, -1, 'WITHSCORES'), redis.call('HGETALL', about)}
