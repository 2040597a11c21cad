-- Close a step and store its hits, if this attempt still holds it (the fence). Return the whole picture.
-- KEYS job steps events due hits queries
-- ARGV job_id step attempt state(done|failed) reason notes event settle_grace_ms (query packed_hits)...
local job, steps, events, due, hits, queries = unpack(KEYS)
local id, step = ARGV[1], ARGV[2]
if is_over(job) then return {'over'} end
if redis.call('HGET', steps, step .. '.state') ~= 'running' then return {'stale'} end
if redis.call('HGET', steps, step .. '.attempt') ~= ARGV[3] then return {'stale'} end

local now = now_ms()
redis.call('HSET', steps, step .. '.state', ARGV[4], step .. '.reason', ARGV[5], step .. '.notes', ARGV[6], step .. '.ended', now)
for i = 9, #ARGV, 2 do redis.call('HSET', hits, ARGV[i], ARGV[i + 1]) end
redis.call('ZREM', due, id .. ' ' .. step)
tell(events, 'stage_finished', ARGV[7])
if redis.call('HINCRBY', job, 'open', -1) <= 0 then
  -- The calling worker settles the job. If it dies first, the sweeper does.
  redis.call('ZADD', due, now + tonumber(ARGV[8]), id .. ' @settle')
end
return {'closed', picture({job = job, steps = steps, hits = hits, queries = queries})}
