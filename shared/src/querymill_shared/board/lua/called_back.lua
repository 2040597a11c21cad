-- Note that the job that tells a caller is on the board, in the record of the job that it tells of. A job that is gone has no record.
-- KEYS callbacks job
-- ARGV entry delivery("": none, the entry cannot be read)
redis.call('ZREM', KEYS[1], ARGV[1])
if ARGV[2] == '' or redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local known = redis.call('HGET', KEYS[2], 'deliveries') or ''
if not string.find(known, ARGV[2], 1, true) then redis.call('HSET', KEYS[2], 'deliveries', known .. ARGV[2] .. ' ') end
return 1
