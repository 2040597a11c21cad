-- Return in how many ms the first entry of each shard is due, "" if it has none: of its due list, or of its callbacks. Sweeping a
-- malformed list repairs it, so that is due.
-- KEYS (due callbacks)...
local now, left = now_ms(), {}
local function first_of(list)
  local head = redis.pcall('ZRANGE', list, 0, 0, 'WITHSCORES')
  if head.err then return 0 end
  return head[2] and tonumber(head[2]) - now
end
for place = 1, #KEYS, 2 do
  local due, callbacks = first_of(KEYS[place]), first_of(KEYS[place + 1])
  local first = due and callbacks and math.min(due, callbacks) or due or callbacks
  left[#left + 1] = first and tostring(first) or ''
end
return left
