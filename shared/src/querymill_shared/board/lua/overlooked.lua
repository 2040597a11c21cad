-- Return the places (from 1) of the jobs that have gone on since, ended or gone: what no watcher's stream told.
-- KEYS job events job events ...
-- ARGV after ... ("" for who waits only for the end)
local found = {}
for place, after in ipairs(ARGV) do
  local job, events = KEYS[2 * place - 1], KEYS[2 * place]
  if has_ended(job) or (after ~= '' and #redis.call('XRANGE', events, '(' .. after, '+', 'COUNT', 1) > 0) then
    found[#found + 1] = place
  end
end
return found
