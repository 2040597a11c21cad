-- Return the ids of the jobs of a shard that a job supersedes: those that were submitted before it, by the order of turns or, if
-- they take none, by when they were accepted. Those that have ended are struck off.
-- KEYS rivals
-- ARGV job_id turn
local found = {}
local members = redis.pcall('SMEMBERS', KEYS[1])
for _, id in ipairs(type_is_wrong(members) and {} or members) do
  local job = stem_of(KEYS[1], id) .. 'job'
  if not is_there(job) or has_ended(job) then
    redis.call('SREM', KEYS[1], id)
  elseif id ~= ARGV[1] then
    local turn, created, its = unpack(redis.call('HMGET', job, 'turn', 'created', 'rivals'))
    local is_rival = string.find(' ' .. (its or '') .. ' ', ' ' .. string.match(KEYS[1], '[^:]+$') .. ' ', 1, true)
    if is_rival and (tonumber(turn) or (tonumber(created) or 0) * 1000) < tonumber(ARGV[2]) then found[#found + 1] = id end
  end
end
return found
