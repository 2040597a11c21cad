-- Add steps to a job. Steps that it already has stay as they are.
-- KEYS job steps due
-- ARGV job_id grace_ms step[=queue]...
local job, steps, due = unpack(KEYS)
local id = ARGV[1]
if is_over(job) then return {} end
local added, queues = {}, {}
for i = 3, #ARGV do
  local name = string.match(ARGV[i], '^[^=]+')
  if redis.call('HSETNX', steps, name .. '.state', 'waiting') == 1 then
    redis.call('HSET', steps, name .. '.attempt', 0, name .. '.queued', now_ms())
    put_in(due, now_ms() + tonumber(ARGV[2]), id .. ' ' .. name)
    added[#added + 1], queues[#queues + 1] = name, ARGV[i]
    local queue = string.match(ARGV[i], '=(.+)$')
    if queue then note_place(job, name, 'waiting', now_ms(), queue) end
  end
end
if #added > 0 then
  redis.call('HINCRBY', job, 'open', #added)
  redis.call('HSET', job, 'order', redis.call('HGET', job, 'order') .. ' ' .. table.concat(added, ' '),
    'queues', (redis.call('HGET', job, 'queues') or '') .. ' ' .. table.concat(queues, ' '))
  for _, added_step in ipairs(queues) do
    local queue = string.match(added_step, '=(.+)$')
    if queue then note_bell(job, queue) end
  end
  -- The job has open steps again, so it must not be settled.
  redis.pcall('ZREM', due, id .. ' @settle')
end
return added
