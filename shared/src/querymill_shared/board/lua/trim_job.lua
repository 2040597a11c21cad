-- Replace the request of a job that has not been done by one without the forgotten documents. What its present attempt still
-- tells of them goes a moment after its end, unless it has to be kept for another attempt.
-- KEYS job request
-- ARGV request
local job, request = unpack(KEYS)
if redis.call('EXISTS', job, request) < 2 or redis.call('HGET', job, 'state') == 'done' then return 0 end
redis.call('SET', request, ARGV[1], 'KEEPTTL')
redis.call('HSETNX', job, 'forgotten', 'in part')
return 1
