-- Put back the steps of this shard that a worker process holds: to be rung at once, by another attempt. If it has ended, those
-- are all. A death is counted against the step, for it may be what kills workers. A planned stop is a pause. If it lives, those
-- are the ones that it has held for some time and does not keep: it never heard that it claimed them.
-- A malformed entry is passed over: it must not keep the other steps from being put back.
-- KEYS held due lives
-- ARGV key_prefix life event_reason counter(deaths|pauses|outages) held_for_ms over_for_ms kept_member...
local held, due, lives = unpack(KEYS)
local reason, counter = ARGV[3], ARGV[4]
if redis.call('TYPE', held).ok ~= 'set' then redis.call('DEL', held) end
local now, found, held_for, over_for = now_ms(), {}, tonumber(ARGV[5]), tonumber(ARGV[6])
local kept = {}
for i = 7, #ARGV do kept[ARGV[i]] = true end

-- Return true if the step is to stay where it is, because it was claimed a moment ago.
local function put_back(id, step, attempt)
  local key = ARGV[1] .. id
  local state, its_attempt, started, its_life = unpack(redis.call('HMGET', key .. ':steps', step .. '.state', step .. '.attempt',
    step .. '.started', step .. '.life'))
  if is_over(key .. ':job') or state ~= 'running' or its_attempt ~= attempt or its_life ~= ARGV[2] then return end
  -- After a step back of the server's clock, a claim may lie in the future, by up to a second: the clock is noted once in that.
  if held_for > 0 and now - (tonumber(started) or 0) < held_for then return true end
  add_one(key .. ':steps', step .. '.' .. counter)
  if counter == 'deaths' then count(key .. ':job', 'leases_lost') end
  keep_attempt(key .. ':job', key .. ':steps', step, now, counter, reason, '', now)
  redis.call('HSET', key .. ':steps', step .. '.state', 'waiting', step .. '.reason', reason)
  forget_rings(key .. ':', step)
  put_in(due, now, id .. ' ' .. step)
  note_place(key .. ':job', step, 'waiting', now)
  tell(key .. ':events', 'stage_finished',
    cjson.encode({type = 'stage_finished', stage = step, state = 'retrying', reason = reason}))
  found[#found + 1] = {id, step}
end

for _, member in ipairs(redis.call('SMEMBERS', held)) do
  local id, step, attempt = string.match(member, '^(%S+) (%S+) (%d+)$')
  if member ~= OVER and not kept[member] then
    local is_sound, stays = pcall(put_back, id, step, attempt)
    if not (id and is_sound and stays) then redis.call('SREM', held, member) end
  end
end
-- It may live, and be listed again: then it is admitted again (admit.lua).
if counter ~= 'outages' then redis.pcall('SREM', lives, ARGV[2]) end
-- What it has on its way claims nothing any more: nobody would put that back.
if over_for > 0 then
  redis.call('SADD', held, OVER)
  redis.call('PEXPIRE', held, over_for)
end
return found
