-- Return the places (from 1) of the jobs that have gone on since, ended or gone: what no watcher's stream told.
-- KEYS job events job events ...
-- ARGV after ... ("" for who waits only for the end)

-- Whether there are events after one, or a server that lost its last second has lost that one as well.
local function has_gone_on(events, after)
  local found = redis.call('XRANGE', events, after, '+', 'COUNT', 2)
  if #found == 0 then return redis.call('EXISTS', events) == 1 end
  return #found == 2 or found[1][1] ~= after
end

local found = {}
for place, after in ipairs(ARGV) do
  local job, events = KEYS[2 * place - 1], KEYS[2 * place]
  if has_ended(job) or (after ~= '' and has_gone_on(events, after)) then found[#found + 1] = place end
end
return found
