-- Before all other preludes, for the scripts that use it: what another program may have written over.

-- Another program's key of a job's name must not keep the job from going on, or from its end.
local function type_is_wrong(reply)
  return type(reply) == 'table' and reply.err and string.find(reply.err, 'WRONGTYPE', 1, true)
end

-- Add to a key that jobs of a shard share. One that another program has written over begins again: jobs must go on.
local function add_with(command, key, ...)
  local added = redis.pcall(command, key, ...)
  if type(added) == 'number' then return added end
  if type_is_wrong(added) then redis.call('DEL', key) end
  return redis.call(command, key, ...)  -- which raises what else is wrong
end

local function put_in(list, at, entry)
  return add_with('ZADD', list, at, entry)
end

local function add_to(set, member)
  return add_with('SADD', set, member)
end

-- Delete those of some keys that another program wrote over with a value of another type: who shares them must go on.
local function drop_unless(kind, ...)
  for _, key in ipairs({...}) do
    local found = redis.call('TYPE', key).ok
    if found ~= kind and found ~= 'none' then redis.call('DEL', key) end
  end
end

-- Add one to a number of a step. What another program wrote there, and what no more can be added to, begins again at one.
local function add_one(steps, field)
  local number = redis.pcall('HINCRBY', steps, field, 1)
  if type(number) ~= 'number' then
    number = 1
    redis.call('HSET', steps, field, number)
  end
  return number
end
