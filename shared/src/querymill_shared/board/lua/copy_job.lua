-- Return a job as it is at one moment, with all those that share its work: when it was accepted and when it ended, then for each
-- key its name, its dump, and in how many ms it expires.
-- KEYS job
-- ARGV job_id part...
local job, found, seen = KEYS[1], {}, {}
local read = redis.pcall('HMGET', job, 'created', 'ended', 'leader')
if type_is_wrong(read) or not read[1] then return found end
found = {read[1], read[2] or ''}

local function copy(key)
  local dump = redis.call('DUMP', key)
  if dump then
    for _, told in ipairs({key, dump, redis.call('PTTL', key)}) do found[#found + 1] = told end
  end
end

local function copy_job(id)
  if seen[id] then return end
  seen[id] = true
  local stem = stem_of(job, id)
  for i = 2, #ARGV do copy(stem .. ARGV[i]) end
  for _, caller in ipairs(callers_of(stem .. 'callers')) do copy_job(caller) end
end

copy_job(read[3] or ARGV[1])
copy_job(ARGV[1])
return found
