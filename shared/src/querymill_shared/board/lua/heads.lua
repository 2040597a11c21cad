-- Return in how many ms the first entry of each due list is due, "" if it is empty. Sweeping a malformed list repairs it, so
-- that is due.
-- KEYS due...
local now, left = now_ms(), {}
for place, due in ipairs(KEYS) do
  local head = redis.pcall('ZRANGE', due, 0, 0, 'WITHSCORES')
  if head.err then
    left[place] = '0'
  else
    left[place] = head[2] and tostring(tonumber(head[2]) - now) or ''
  end
end
return left
