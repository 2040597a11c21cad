-- Keep of a job that is done only how it ended, because a document was forgotten. With a result, that replaces its own.
-- KEYS job result
-- ARGV is_write(0|1) result
local job, result = KEYS[1], KEYS[2]
if redis.call('HGET', job, 'state') ~= 'done' then return 0 end
scrub(job, ARGV[1] == '1')
if ARGV[2] ~= '' and redis.call('EXISTS', result) == 1 then redis.call('SET', result, ARGV[2], 'KEEPTTL') end
return 1
