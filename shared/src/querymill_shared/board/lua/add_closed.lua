-- Add a step that is closed from the start, with what it notes, unless the job has it already. Return the picture of the job.
-- KEYS job steps events hits queries
-- ARGV step state reason facts event notes
local job, steps, events, hits, queries = unpack(KEYS)
local step = ARGV[1]
if is_over(job) then return {} end
if redis.call('HSETNX', steps, step .. '.state', ARGV[2]) == 1 then
  redis.call('HSET', steps, step .. '.attempt', 0, step .. '.reason', ARGV[3], step .. '.facts', ARGV[4],
    step .. '.started', redis.call('HGET', job, 'created'), step .. '.ended', now_ms(), step .. '.notes', ARGV[6])
  redis.call('HSET', job, 'order', (redis.call('HGET', job, 'order') or '') .. ' ' .. step)
  tell(events, 'stage_finished', ARGV[5])
end
return picture({job = job, steps = steps, hits = hits, queries = queries})
