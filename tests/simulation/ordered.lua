-- Sorted sets and streams, and how keys are listed: see keys.lua.

local function sorted(zset)
  if not zset.sorted then
    local list = {}
    for member in pairs(zset.of) do list[#list + 1] = member end
    table.sort(list, function(one, other)
      local mine, its = zset.of[one], zset.of[other]
      if mine ~= its then return mine < its end
      return one < other
    end)
    zset.sorted = list
  end
  return zset.sorted
end

local function score_of(zset, member, score)
  if zset.of[member] == nil then zset.size = zset.size + 1 end
  zset.of[member], zset.sorted = score, nil
end

local function drop(key, zset, members)
  local count = 0
  for _, member in ipairs(members) do
    if zset.of[member] ~= nil then
      zset.of[member], zset.sorted, zset.size, count = nil, nil, zset.size - 1, count + 1
    end
  end
  if zset.size == 0 then data[key] = nil end
  return count
end

function commands.ZADD(key, ...)
  local given, first, count = {...}, 1, 0
  local only_new = string.upper(text(given[1])) == 'NX'
  if only_new then first = 2 end
  for place = first, #given, 2 do real(given[place]) end
  local zset = need(key, 'zset')
  for place = first, #given, 2 do
    local member = text(given[place + 1])
    local is_new = zset.of[member] == nil
    if is_new then count = count + 1 end
    if is_new or not only_new then score_of(zset, member, real(given[place])) end
  end
  return count
end

function commands.ZINCRBY(key, by, member)
  local zset = need(key, 'zset')
  score_of(zset, text(member), (zset.of[text(member)] or 0) + real(by))
  return text(zset.of[text(member)])
end

function commands.ZREM(key, ...)
  local entry, members = find(key, 'zset'), {...}
  if not entry then return 0 end
  for place, member in ipairs(members) do members[place] = text(member) end
  return drop(key, entry.v, members)
end

function commands.ZCARD(key)
  local entry = find(key, 'zset')
  return entry and entry.v.size or 0
end

function commands.ZSCORE(key, member)
  local entry = find(key, 'zset')
  local score = entry and entry.v.of[text(member)]
  return score and text(score) or false
end

-- Return the members at some ranks, negative ones counted from the end.
local function ranks(zset, first, last)
  local list, found = sorted(zset), {}
  first, last = whole(first), whole(last)
  first = first < 0 and math.max(#list + first, 0) or first
  last = last < 0 and #list + last or math.min(last, #list - 1)
  for place = first + 1, last + 1 do found[#found + 1] = list[place] end
  return found
end

local function bound(written)
  local is_open = string.sub(text(written), 1, 1) == '('
  return real(is_open and string.sub(written, 2) or text(written)), is_open
end

local function scored(zset, low, high)
  local least, is_above = bound(low)
  local most, is_below = bound(high)
  local found = {}
  for _, member in ipairs(sorted(zset)) do
    local score = zset.of[member]
    if (score > least or score == least and not is_above) and (score < most or score == most and not is_below) then
      found[#found + 1] = member
    end
  end
  return found
end

local function with_scores(zset, members, is_asked)
  if not is_asked then return members end
  local found = {}
  for _, member in ipairs(members) do
    found[#found + 1], found[#found + 2] = member, text(zset.of[member])
  end
  return found
end

local function reversed(members)
  local found = {}
  for place = #members, 1, -1 do found[#found + 1] = members[place] end
  return found
end

-- What follows the bounds: WITHSCORES, LIMIT offset count.
local function narrowed(zset, members, ...)
  local options, is_asked = {...}, false
  for place, option in ipairs(options) do
    if string.upper(text(option)) == 'WITHSCORES' then
      is_asked = true
    elseif string.upper(text(option)) == 'LIMIT' then
      local offset, count, some = whole(options[place + 1]), whole(options[place + 2]), {}
      for number = offset + 1, count < 0 and #members or math.min(#members, offset + count) do some[#some + 1] = members[number] end
      members = some
    end
  end
  return with_scores(zset, members, is_asked)
end

function commands.ZRANGE(key, first, last, ...)
  local entry = find(key, 'zset')
  return entry and narrowed(entry.v, ranks(entry.v, first, last), ...) or {}
end

function commands.ZREVRANGE(key, first, last, ...)
  local entry = find(key, 'zset')
  if not entry then return {} end
  local list, found = reversed(sorted(entry.v)), {}
  for place = whole(first) + 1, math.min(#list, whole(last) < 0 and #list + whole(last) + 1 or whole(last) + 1) do
    found[#found + 1] = list[place]
  end
  return narrowed(entry.v, found, ...)
end

function commands.ZRANGEBYSCORE(key, low, high, ...)
  local entry = find(key, 'zset')
  return entry and narrowed(entry.v, scored(entry.v, low, high), ...) or {}
end

function commands.ZREVRANGEBYSCORE(key, high, low, ...)
  local entry = find(key, 'zset')
  return entry and narrowed(entry.v, reversed(scored(entry.v, low, high)), ...) or {}
end

function commands.ZCOUNT(key, low, high)
  local entry = find(key, 'zset')
  return entry and #scored(entry.v, low, high) or 0
end

function commands.ZREMRANGEBYSCORE(key, low, high)
  local entry = find(key, 'zset')
  return entry and drop(key, entry.v, scored(entry.v, low, high)) or 0
end

function commands.ZREMRANGEBYRANK(key, first, last)
  local entry = find(key, 'zset')
  return entry and drop(key, entry.v, ranks(entry.v, first, last)) or 0
end

-- Streams: entries are {ms, number, fields}.

local function id_of(entry) return format('%.0f-%.0f', entry[1], entry[2]) end

-- Read an id. Without its second part it is the first or the last of that ms.
local function read_id(written, default)
  local ms, number = string.match(written, '^(%d+)%-?(%d*)$')
  if not ms then fail('ERR Invalid stream ID specified as stream command argument') end
  return tonumber(ms), tonumber(number) or default
end

local function is_before(ms, number, other_ms, other_number)
  return ms < other_ms or ms == other_ms and number < other_number
end

-- "~" trims whole nodes of a hundred entries, as a server does.
local function trim(stream, most, is_rough)
  local surplus = #stream.entries - most
  if is_rough then surplus = surplus - surplus % 100 end
  for _ = 1, surplus do remove(stream.entries, 1) end
  return math.max(surplus, 0)
end

function commands.XADD(key, ...)
  local given, place, most, is_rough, creates = {...}, 1, nil, false, true
  while given[place] ~= '*' do
    local option = string.upper(text(given[place]))
    if option == 'NOMKSTREAM' then
      creates, place = false, place + 1
    elseif option == 'MAXLEN' then
      is_rough = given[place + 1] == '~'
      place = place + (is_rough and 2 or 1)
      most, place = whole(given[place]), place + 1
    else
      fail('ERR the model of the keys makes ids only')
    end
  end
  if not creates and not find(key, 'stream') then return false end
  local stream, ms, fields = need(key, 'stream'), floor(now_us / 1000), {}
  for rest = place + 1, #given do fields[#fields + 1] = text(given[rest]) end
  if ms > stream.ms then stream.ms, stream.seq = ms, 0 else stream.seq = stream.seq + 1 end
  local entry = {stream.ms, stream.seq, fields}
  stream.entries[#stream.entries + 1] = entry
  if most then trim(stream, most, is_rough) end
  pushed = true
  if string.sub(key, -7) == ':events' then tell_of('event', key, id_of(entry), fields[2], fields[4]) end
  return id_of(entry)
end

function commands.XLEN(key)
  local entry = find(key, 'stream')
  return entry and #entry.v.entries or 0
end

function commands.XTRIM(key, _, ...)
  local entry, given = find(key, 'stream'), {...}
  if not entry then return 0 end
  local is_rough = given[1] == '~'
  return trim(entry.v, whole(given[is_rough and 2 or 1]), is_rough)
end

function commands.XDEL(key, ...)
  local entry, count, gone = find(key, 'stream'), 0, {...}
  if not entry then return 0 end
  for _, id in ipairs(gone) do
    for place, known in ipairs(entry.v.entries) do
      if id_of(known) == id then
        remove(entry.v.entries, place)
        count = count + 1
        break
      end
    end
  end
  return count
end

local function between(stream, first, last)
  local found = {}
  local is_open = string.sub(first, 1, 1) == '('
  local ms, number = 0, 0
  if first ~= '-' then ms, number = read_id(is_open and string.sub(first, 2) or first, 0) end
  local last_ms, last_number = math.huge, math.huge
  if last ~= '+' then last_ms, last_number = read_id(last, math.huge) end
  for _, entry in ipairs(stream.entries) do
    local is_late = is_before(last_ms, last_number, entry[1], entry[2])
    local is_early = is_before(entry[1], entry[2], ms, number) or is_open and entry[1] == ms and entry[2] == number
    if not is_late and not is_early then found[#found + 1] = {id_of(entry), entry[3]} end
  end
  return found
end

local function first_of(found, option, count)
  if option and string.upper(option) == 'COUNT' then
    while #found > whole(count) do remove(found) end
  end
  return found
end

function commands.XRANGE(key, first, last, ...)
  local entry = find(key, 'stream')
  return entry and first_of(between(entry.v, first, last), ...) or {}
end

function commands.XREVRANGE(key, last, first, ...)
  local entry = find(key, 'stream')
  return entry and first_of(reversed(between(entry.v, first, last)), ...) or {}
end

-- Return what came after the ids, of each stream that has something; false if none has.
function commands.XREAD(...)
  local given, place, most, found = {...}, 1, nil, {}
  while string.upper(given[place]) ~= 'STREAMS' do
    if string.upper(given[place]) == 'COUNT' then most = given[place + 1] end
    place = place + 2
  end
  local streams = (#given - place) / 2
  for number = 1, streams do
    local key, after = given[place + number], given[place + streams + number]
    local entry = find(key, 'stream')
    local entries = entry and first_of(between(entry.v, '(' .. after, '+'), most and 'COUNT', most) or {}
    if #entries > 0 then found[#found + 1] = {key, entries} end
  end
  return #found > 0 and found or false
end

-- Lists every key that a pattern of "*" and "?" names, at once. Those that come in between are listed or not, as on a server.
function commands.SCAN(_, ...)
  local pattern, found = '.*', {}
  for place, option in ipairs({...}) do
    if string.upper(text(option)) == 'MATCH' then
      pattern = string.gsub(string.gsub(select(place + 1, ...), '[%-%.%+%^%$%(%)%%]', '%%%0'), '[%*%?]', {['*'] = '.*', ['?'] = '.'})
    end
  end
  for key in pairs(data) do
    if string.find(key, '^' .. pattern .. '$') and find(key) then found[#found + 1] = key end
  end
  table.sort(found)
  return {'0', found}
end
