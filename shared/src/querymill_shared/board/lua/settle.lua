-- End a job once: the first verdict wins, whatever it is.
-- KEYS job steps events due hits queries request result ended
-- ARGV job_id state reason result event_type event ttl_ms keep_request(0|1)
local job, steps, events, due, hits, queries, request, result, ended = unpack(KEYS)
local id, ttl = ARGV[1], tonumber(ARGV[7])
if is_over(job) then return 0 end
local now = now_ms()
redis.call('HSET', job, 'state', ARGV[2], 'reason', ARGV[3], 'ended', now)
if ARGV[4] ~= '' then redis.call('SET', result, ARGV[4]) end
tell(events, ARGV[5], ARGV[6])
-- A reader that waits only for the end wakes up once, not at every event.
tell(ended, ARGV[5], ARGV[6])
for _, field in ipairs(redis.call('HKEYS', steps)) do
  local step = string.match(field, '^(.*)%.state$')
  if step then redis.call('ZREM', due, id .. ' ' .. step) end
end
redis.call('ZREM', due, id .. ' @deadline', id .. ' @settle')
if ARGV[8] == '0' then redis.call('DEL', request) end
for _, key in ipairs(KEYS) do
  if key ~= due then redis.call('PEXPIRE', key, ttl) end
end
return 1
