-- Register a watcher of a job, and return what it has missed: at once, so that no event falls between the two.
-- KEYS job events result
-- ARGV watcher mode(all|end) after most_watchers
local job, events, result = unpack(KEYS)
local watcher, mode, after = ARGV[1], ARGV[2], ARGV[3]
local state, leader, left, watched = unpack(redis.call('HMGET', job, 'state', 'leader', 'left', 'watch'))
if not state and redis.call('EXISTS', job) == 0 then return {'unknown'} end
if leader and drop_if_lost(job) then return {'unknown'} end
local over = is_final(state) or left
if not over then
  local others = {}
  for name, known in string.gmatch(watched or '', '(%S+):(%a+)') do
    if name ~= watcher then
      others[#others + 1] = name .. ':' .. known
    elseif known == 'all' then
      mode = 'all'
    end
  end
  -- Who watched first may be long gone. If not, it still finds the end by its own slower look.
  while #others >= tonumber(ARGV[4]) do table.remove(others, 1) end
  others[#others + 1] = watcher .. ':' .. mode
  redis.call('HSET', job, 'watch', table.concat(others, ' '))
end
if ARGV[2] == 'all' then
  local told = redis.call('XRANGE', events, '(' .. after, '+')
  -- A server that lost its last second has lost what this watcher heard last, and its clock may be behind.
  if #told == 0 and #redis.call('XRANGE', events, after, '+', 'COUNT', 1) == 0 then
    told = redis.call('XRANGE', events, '-', '+')
  end
  return {'events', redis.call('XLEN', events), told}
end
if not over then return {'events', 0, {}} end
local text, leader = result_of(job, result)
return {'events', 0, {end_of(job, left)}, text, leader}
