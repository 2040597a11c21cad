-- Note how long a new step would wait on each queue that workers do not keep up with, and how fast each queue is emptied, as
-- "waiting waiting_in_this_shard per_s spare". The note is short-lived: if it is not written again, no work is refused.
-- KEYS backlog
-- ARGV lives_ms count_of_waits (queue wait_ms)... (queue waiting per_s spare)...
local shard = string.match(KEYS[1], '^qm:{%x}:')
redis.call('DEL', KEYS[1])
local first = 3 + tonumber(ARGV[2])
for i = 3, first - 1, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
for i = first, #ARGV, 4 do
  local here = tonumber(redis.pcall('ZCOUNT', shard .. 'waiting:' .. ARGV[i], '-inf', now_ms())) or 0
  redis.call('HSET', KEYS[1], 'pace:' .. ARGV[i], table.concat({ARGV[i + 1], here, ARGV[i + 2], ARGV[i + 3]}, ' '))
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
