-- Note how long a new step would wait on each queue that workers do not keep up with. The note is short-lived: if it is not
-- written again, no work is refused.
-- KEYS backlog
-- ARGV lives_ms (queue wait_ms)...
redis.call('DEL', KEYS[1])
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
