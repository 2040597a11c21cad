-- A model of the keys of the board's server: what its commands do, as tables of one Lua. `test_keys.py` holds it to a real server.
-- A key is {t = type, v = value, px = when it expires (ms)}. A value is a string; a "bag" (hash, set); a sorted set; a list; a stream.

local data, now_us, compiled, loaded, dumps, told, pushed = {}, 0, {}, {}, {}, {}, false
local floor, format, concat, insert, remove = math.floor, string.format, table.concat, table.insert, table.remove
local WRONG = 'WRONGTYPE Operation against a key holding the wrong kind of value'
local commands = {}

local function fail(said) error({err = said}, 0) end

-- A number as the server writes it.
local function text(value)
  if type(value) == 'string' then return value end
  if type(value) ~= 'number' then fail('ERR Lua redis lib command arguments must be strings or integers') end
  if value == floor(value) and value > -1e17 and value < 1e17 then return format('%.0f', value) end
  return format('%.17g', value)
end

local function whole(value)
  local number = tonumber(value)
  if not number or number ~= floor(number) then fail('ERR value is not an integer or out of range') end
  return number
end

local function real(value)
  if value == '-inf' then return -math.huge elseif value == '+inf' or value == 'inf' then return math.huge end
  return tonumber(value) or fail('ERR value is not a valid float')
end

-- What a test is told of: the changes of a job's state, its events, and its end.
local function tell_of(what, key, first, second, third)
  told[#told + 1] = {what, key, first, second, third}
end

-- Return what a key holds, nil if it holds nothing; of another type it is refused.
local function find(key, kind)
  local entry = data[key]
  if not entry then return nil end
  if entry.px and entry.px * 1000 <= now_us then
    if string.sub(key, -4) == ':job' then tell_of('expired', key) end
    data[key] = nil
    return nil
  end
  if kind and entry.t ~= kind then fail(WRONG) end
  return entry
end

-- A bag keeps its names in the order in which they came.
local function new_bag() return {names = {}, of = {}} end
local fresh = {hash = new_bag, set = new_bag, zset = function() return {of = {}, size = 0} end, list = function() return {} end,
  stream = function() return {ms = 0, seq = 0, entries = {}} end}

local function need(key, kind)
  local entry = find(key, kind)
  if not entry then
    entry = {t = kind, v = fresh[kind]()}
    data[key] = entry
  end
  return entry.v
end

local function put(bag, name, value)
  local is_new = bag.of[name] == nil
  if is_new then bag.names[#bag.names + 1] = name end
  bag.of[name] = value
  return is_new
end

local function take(bag, name)
  if bag.of[name] == nil then return false end
  bag.of[name] = nil
  for place, known in ipairs(bag.names) do
    if known == name then remove(bag.names, place) break end
  end
  return true
end

-- Keys of any type.

function commands.EXISTS(...)
  local count = 0
  for place = 1, select('#', ...) do
    if find((select(place, ...))) then count = count + 1 end
  end
  return count
end

function commands.DEL(...)
  local count = 0
  for place = 1, select('#', ...) do
    local key = select(place, ...)
    if find(key) then
      if string.sub(key, -4) == ':job' then tell_of('gone', key) end
      data[key] = nil
      count = count + 1
    end
  end
  return count
end

function commands.RENAME(key, other)
  local entry = find(key)
  if not entry then fail('ERR no such key') end
  data[key] = nil
  data[other] = entry
  return {ok = 'OK'}
end

function commands.TYPE(key)
  local entry = find(key)
  return {ok = entry and entry.t or 'none'}
end

function commands.PTTL(key)
  local entry = find(key)
  return not entry and -2 or entry.px and entry.px - floor(now_us / 1000) or -1
end

function commands.PEXPIRE(key, ms)
  local entry = find(key)
  if not entry then return 0 end
  entry.px = floor(now_us / 1000) + whole(ms)
  find(key)
  return 1
end

function commands.PERSIST(key)
  local entry = find(key)
  if not entry or not entry.px then return 0 end
  entry.px = nil
  return 1
end

function commands.DUMP(key)
  local entry = find(key)
  if not entry then return false end
  dumps[#dumps + 1] = entry
  return format('%d', #dumps)
end

function commands.RESTORE(key, ttl, dump)
  local kept, px = dumps[tonumber(dump)], whole(ttl)
  data[key] = {t = kept.t, v = kept.v, px = px > 0 and floor(now_us / 1000) + px or nil}
  return {ok = 'OK'}
end

function commands.TIME()
  local seconds = floor(now_us / 1000000)
  return {format('%d', seconds), format('%d', now_us - seconds * 1000000)}
end

function commands.PING() return {ok = 'PONG'} end

-- Texts.

function commands.GET(key)
  local entry = find(key, 'string')
  return entry and entry.v or false
end

function commands.STRLEN(key)
  local entry = find(key, 'string')
  return entry and #entry.v or 0
end

function commands.SET(key, value, ...)
  local px, known = nil, find(key)
  for place = 1, select('#', ...) do
    local option = string.upper(text((select(place, ...))))
    if option == 'PX' then px = floor(now_us / 1000) + whole((select(place + 1, ...)))
    elseif option == 'EX' then px = floor(now_us / 1000) + 1000 * whole((select(place + 1, ...)))
    elseif option == 'KEEPTTL' then px = known and known.px
    elseif option == 'XX' and not known or option == 'NX' and known then return false end
  end
  data[key] = {t = 'string', v = text(value), px = px}
  return {ok = 'OK'}
end

-- Hashes.

function commands.HGET(key, field)
  local entry = find(key, 'hash')
  return entry and entry.v.of[text(field)] or false
end

function commands.HMGET(key, ...)
  local entry, found = find(key, 'hash'), {}
  for place = 1, select('#', ...) do
    found[place] = entry and entry.v.of[text((select(place, ...)))] or false
  end
  return found
end

function commands.HSET(key, ...)
  local given = select('#', ...)
  if given == 0 or given % 2 == 1 then fail("ERR wrong number of arguments for 'hset' command") end
  local bag, count, fields = need(key, 'hash'), 0, {...}
  local is_job = string.sub(key, -4) == ':job'
  for place = 1, given, 2 do
    local name, value = text(fields[place]), text(fields[place + 1])
    if put(bag, name, value) then count = count + 1 end
    if is_job and (name == 'state' or name == 'left') then tell_of(name, key, value) end
  end
  return count
end

function commands.HSETNX(key, field, value)
  local bag = need(key, 'hash')
  if bag.of[text(field)] then return 0 end
  put(bag, text(field), text(value))
  return 1
end

function commands.HDEL(key, ...)
  local entry, count = find(key, 'hash'), 0
  if not entry then return 0 end
  for place = 1, select('#', ...) do
    if take(entry.v, text((select(place, ...)))) then count = count + 1 end
  end
  if #entry.v.names == 0 then data[key] = nil end
  return count
end

function commands.HEXISTS(key, field)
  local entry = find(key, 'hash')
  return entry and entry.v.of[text(field)] and 1 or 0
end

function commands.HINCRBY(key, field, by)
  local bag = need(key, 'hash')
  local before = tonumber(bag.of[text(field)] or '0')
  if not before then fail('ERR hash value is not an integer') end
  put(bag, text(field), text(before + whole(by)))
  return before + whole(by)
end

function commands.HKEYS(key)
  local entry, found = find(key, 'hash'), {}
  for place, name in ipairs(entry and entry.v.names or {}) do found[place] = name end
  return found
end

function commands.HVALS(key)
  local entry, found = find(key, 'hash'), {}
  for place, name in ipairs(entry and entry.v.names or {}) do found[place] = entry.v.of[name] end
  return found
end

function commands.HLEN(key)
  local entry = find(key, 'hash')
  return entry and #entry.v.names or 0
end

function commands.HGETALL(key)
  local entry, found = find(key, 'hash'), {}
  for _, name in ipairs(entry and entry.v.names or {}) do
    found[#found + 1], found[#found + 2] = name, entry.v.of[name]
  end
  return found
end

-- Sets.

function commands.SADD(key, ...)
  local bag, count = need(key, 'set'), 0
  for place = 1, select('#', ...) do
    if put(bag, text((select(place, ...))), true) then count = count + 1 end
  end
  return count
end

function commands.SREM(key, ...)
  local entry, count = find(key, 'set'), 0
  if not entry then return 0 end
  for place = 1, select('#', ...) do
    if take(entry.v, text((select(place, ...)))) then count = count + 1 end
  end
  if #entry.v.names == 0 then data[key] = nil end
  return count
end

function commands.SMEMBERS(key)
  local entry, found = find(key, 'set'), {}
  for place, name in ipairs(entry and entry.v.names or {}) do found[place] = name end
  return found
end

function commands.SISMEMBER(key, member)
  local entry = find(key, 'set')
  return entry and entry.v.of[text(member)] and 1 or 0
end

function commands.SCARD(key)
  local entry = find(key, 'set')
  return entry and #entry.v.names or 0
end

-- Lists. The left end comes first.

function commands.LPUSH(key, ...)
  local list = need(key, 'list')
  for place = 1, select('#', ...) do insert(list, 1, text((select(place, ...)))) end
  pushed = true
  return #list
end

function commands.RPUSH(key, ...)
  local list = need(key, 'list')
  for place = 1, select('#', ...) do list[#list + 1] = text((select(place, ...))) end
  pushed = true
  return #list
end

function commands.LLEN(key)
  local entry = find(key, 'list')
  return entry and #entry.v or 0
end

function commands.LRANGE(key, first, last)
  local entry, found = find(key, 'list'), {}
  local list = entry and entry.v or {}
  first, last = whole(first), whole(last)
  first = first < 0 and math.max(#list + first, 0) or first
  last = last < 0 and #list + last or math.min(last, #list - 1)
  for place = first + 1, last + 1 do found[#found + 1] = list[place] end
  return found
end

function commands.LREM(key, count, value)
  local entry, removed = find(key, 'list'), 0
  if not entry then return 0 end
  count = whole(count)
  local from, to, step = 1, #entry.v, 1
  if count < 0 then from, to, step = #entry.v, 1, -1 end
  local place = from
  while place >= 1 and place <= #entry.v and (count == 0 or removed < math.abs(count)) do
    if entry.v[place] == value then
      remove(entry.v, place)
      removed = removed + 1
      if step < 0 then place = place - 1 end
    else
      place = place + step
    end
  end
  if #entry.v == 0 then data[key] = nil end
  return removed
end

function commands.RPOP(key, count)
  local entry, found = find(key, 'list'), {}
  if not entry then return false end
  for _ = 1, count and whole(count) or 1 do found[#found + 1] = remove(entry.v) end
  if #entry.v == 0 then data[key] = nil end
  return count and found or found[1] or false
end

-- Several queues at once, the oldest first; false if all are empty.
function commands.BLMPOP(_, count, ...)
  local keys, most = {...}, 1
  if keys[whole(count) + 2] == 'COUNT' then most = whole(keys[whole(count) + 3]) end
  for place = 1, whole(count) do
    if find(keys[place], 'list') then return {keys[place], commands.RPOP(keys[place], most)} end
  end
  return false
end
