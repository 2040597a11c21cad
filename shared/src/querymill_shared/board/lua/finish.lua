-- Close a step and store its hits, if this attempt still holds it (the fence). Return the picture if this was the last open
-- step, or if somebody may read what is told on the way, nothing was told for a while, and it is this worker's turn to tell.
-- KEYS job steps events due hits queries held
-- ARGV job_id step attempt state(done|failed) reason notes event settle_grace_ms tell_every_ms
--   facts settles(0|1) (query packed_hits)...
local job, steps, events, due, hits, queries, held = unpack(KEYS)
local id, step = ARGV[1], ARGV[2]
redis.pcall('SREM', held, id .. ' ' .. step .. ' ' .. ARGV[3])
local its_state, told = unpack(redis.call('HMGET', job, 'state', 'told'))
if is_final(its_state) then return {'over'} end
local state, attempt = unpack(redis.call('HMGET', steps, step .. '.state', step .. '.attempt'))
if state ~= 'running' or attempt ~= ARGV[3] then return {'stale'} end

local now = now_ms()
redis.call('HSET', steps, step .. '.state', ARGV[4], step .. '.reason', ARGV[5], step .. '.notes', ARGV[6], step .. '.ended', now,
  step .. '.facts', ARGV[10])
for i = 12, #ARGV, 2 do redis.call('HSET', hits, ARGV[i], ARGV[i + 1]) end
redis.call('ZREM', due, id .. ' ' .. step)
tell(events, 'stage_finished', ARGV[7])
local keys = {job = job, steps = steps, hits = hits, queries = queries}
if redis.call('HINCRBY', job, 'open', -1) <= 0 then
  -- The calling worker settles the job. If it dies first, the sweeper does.
  redis.call('ZADD', due, now + tonumber(ARGV[8]), id .. ' @settle')
  return ARGV[11] == '1' and {'closed'} or {'closed', picture(keys)}
end
told = tonumber(told)
if ARGV[4] ~= 'done' or (told and now - told < tonumber(ARGV[9])) or not is_followed(job) then return {'closed'} end
local before = picture(keys)
redis.call('HSET', job, 'told', now)
return {'closed', before}
