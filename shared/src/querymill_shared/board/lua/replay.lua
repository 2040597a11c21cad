-- Open a dead job again: the steps that are not done wait with all their attempts, and are due at once. A job with a
-- deadline gets as much time as it had.
-- KEYS job steps events due dead hits queries request result rings
-- ARGV job_id margin_ms
local job, steps, events, due, dead, _, _, _, result, rings = unpack(KEYS)
local id = ARGV[1]
if redis.call('HGET', job, 'state') ~= 'dead' then return 0 end

local now, names, open = now_ms(), {}, {}
for name in string.gmatch(redis.call('HGET', job, 'order'), '%S+') do
  names[#names + 1] = name
  if redis.call('HGET', steps, name .. '.state') ~= 'done' then
    local read = redis.call('HMGET', steps, name .. '.state', name .. '.ended', name .. '.facts')
    if read[1] == 'failed' then keep_attempt(job, steps, name, read[2] or now, 'failures', '', read[3] or '', now) end
    redis.call('HSET', steps, name .. '.state', 'waiting')
    for _, field in ipairs({'reason', 'ended', 'facts', 'notes', 'deaths', 'failures', 'outages', 'conflicts', 'left', 'left_at'}) do
      redis.call('HDEL', steps, name .. '.' .. field)
    end
    put_in(due, now, id .. ' ' .. name)
    note_place(job, name, 'waiting', now)
    open[#open + 1] = name
  end
end
if #open == 0 then put_in(due, now, id .. ' @settle') end
local deadline = tonumber(redis.call('HGET', job, 'deadline'))
if deadline > 0 then
  local given = deadline - tonumber(redis.call('HGET', job, 'replayed') or redis.call('HGET', job, 'created'))
  redis.call('HSET', job, 'deadline', now + given)
  put_in(due, now + given - math.min(tonumber(ARGV[2]), given / 2), id .. ' @deadline')
end
redis.call('HSET', job, 'state', 'queued', 'reason', '', 'open', #open, 'replayed', now)
-- Those who had joined the job have been told that it failed.
redis.call('HDEL', job, 'ended', 'told', 'left', 'released', 'code')
put_in((string.gsub(due, 'due$', 'open')), redis.call('HGET', job, 'created'), id)
redis.call('DEL', own_stem(job) .. 'callers', own_stem(job) .. 'shared')
join_rivals(job, id)
redis.pcall('ZREM', dead, id)
-- Readers follow the job from its beginning, and would take the failure for its end. A stream that is emptied goes on with
-- later ids, a new one might not.
redis.call('XTRIM', events, 'MAXLEN', 0)
redis.call('DEL', result, rings)
tell_one(events, 'queued', cjson.encode({type = 'queued', stages = names}))
for _, key in ipairs(KEYS) do
  if key ~= due and key ~= dead then redis.call('PERSIST', key) end
end
return 1
