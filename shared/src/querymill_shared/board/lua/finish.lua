-- Close a step and store its hits, if this attempt still holds it (the fence). Return the picture if this was the last open
-- step, or if somebody may read what is told on the way, nothing was told for a while, and it is this worker's turn to tell.
-- KEYS job steps events due hits queries held
-- ARGV job_id settle_grace_ms tell_every_ms step attempt state(done|failed) reason facts event notes (query packed_hits)...
local job, steps, events, due, hits, queries, held = unpack(KEYS)
local id, step, state = ARGV[1], ARGV[4], ARGV[6]
redis.pcall('SREM', held, id .. ' ' .. step .. ' ' .. ARGV[5])
local its_state, told = unpack(redis.call('HMGET', job, 'state', 'told'))
if is_final(its_state) then return {'over'} end
if not is_held(steps, 4) then return {'stale'} end

local now = now_ms()
close_step(steps, events, hits, 4)
note_place(job, step)
redis.pcall('ZREM', due, id .. ' ' .. step)
local keys = {job = job, steps = steps, hits = hits, queries = queries}
if redis.call('HINCRBY', job, 'open', -1) <= 0 then
  -- The calling worker settles the job. If it dies first, the sweeper does.
  put_in(due, now + tonumber(ARGV[2]), id .. ' @settle')
  return {'closed', picture(keys)}
end
told = tonumber(told)
if state ~= 'done' or (told and now - told < tonumber(ARGV[3])) or not is_followed(job) then return {'closed'} end
local before = picture(keys)
redis.call('HSET', job, 'told', now)
return {'closed', before}
