-- Scripts on the model of the keys, as a server runs them, and replies as it writes them: see keys.lua.

local NULL = newproxy()
local ESCAPES = {['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r',
  ['\t'] = '\\t', ['\127'] = '\\u007f'}
local NAMED = {b = '\b', f = '\f', n = '\n', r = '\r', t = '\t'}

local function quote(value)
  return '"' .. string.gsub(value, '["\\/%c]', function(char)
    return ESCAPES[char] or format('\\u%04x', string.byte(char))
  end) .. '"'
end

local function encode(value)
  local kind, parts = type(value), {}
  if kind == 'string' then return quote(value) end
  if kind == 'number' then return format('%.14g', value) end
  if kind ~= 'table' then return value == NULL and 'null' or tostring(value) end
  if #value > 0 then
    for place, part in ipairs(value) do parts[place] = encode(part) end
    return '[' .. concat(parts, ',') .. ']'
  end
  local names = {}
  for name in pairs(value) do names[#names + 1] = name end
  table.sort(names)
  for place, name in ipairs(names) do parts[place] = quote(name) .. ':' .. encode(value[name]) end
  return '{' .. concat(parts, ',') .. '}'
end

local function utf8(code)
  if code < 128 then return string.char(code) end
  if code < 2048 then return string.char(192 + floor(code / 64), 128 + code % 64) end
  if code < 65536 then return string.char(224 + floor(code / 4096), 128 + floor(code / 64) % 64, 128 + code % 64) end
  return string.char(240 + floor(code / 262144), 128 + floor(code / 4096) % 64, 128 + floor(code / 64) % 64, 128 + code % 64)
end

local function unquote(written)
  local joined = string.gsub(written, '\\u[dD]([89aAbB]%x%x)\\u[dD]([c-fC-F]%x%x)', function(high, low)
    return utf8(65536 + (tonumber(high, 16) - 2048) * 1024 + tonumber(low, 16) - 3072)
  end)
  return (string.gsub(string.gsub(joined, '\\u(%x%x%x%x)', function(code) return utf8(tonumber(code, 16)) end), '\\(.)', function(char)
    return NAMED[char] or char
  end))
end

local decode_at

local function decode_text(json, at)
  local stop = at + 1
  while true do
    local found = string.find(json, '["\\]', stop) or error('Expected value but found invalid token')
    if string.sub(json, found, found) == '"' then return unquote(string.sub(json, at + 1, found - 1)), found + 1 end
    stop = found + 2
  end
end

local function decode_many(json, at, closing, add)
  at = string.match(json, '^%s*()', at + 1)
  if string.sub(json, at, at) == closing then return at + 1 end
  while true do
    at = string.match(json, '^%s*()', add(at))
    local char = string.sub(json, at, at)
    if char == closing then return at + 1 end
    if char ~= ',' then error('Expected comma or end but found invalid token') end
    at = string.match(json, '^%s*()', at + 1)
  end
end

local WORDS = {t = {'true', true}, f = {'false', false}, n = {'null', NULL}}

function decode_at(json, at)
  local char, found = string.sub(json, at, at), {}
  if char == '"' then return decode_text(json, at) end
  if char == '{' then
    return found, decode_many(json, at, '}', function(from)
      local name, after = decode_text(json, from)
      found[name], after = decode_at(json, string.match(json, '^%s*:%s*()', after))
      return after
    end)
  end
  if char == '[' then
    return found, decode_many(json, at, ']', function(from)
      local value, after = decode_at(json, from)
      found[#found + 1] = value
      return after
    end)
  end
  local word = WORDS[char]
  if word and string.sub(json, at, at + #word[1] - 1) == word[1] then return word[2], at + #word[1] end
  local number, after = string.match(json, '^(%-?[%d%.eE+-]+)()', at)
  if not tonumber(number) then error('Expected value but found invalid token') end
  return tonumber(number), after
end

cjson = {null = NULL, encode = encode}

function cjson.decode(json)
  if type(json) ~= 'string' then error('bad argument #1 to decode') end
  local value, after = decode_at(json, string.match(json, '^%s*()'))
  if not string.find(json, '^%s*$', after) then error('Expected the end but found invalid token') end
  return value
end

-- Commands of a script that raise, or return their error.
redis = {}

function redis.call(name, ...)
  local command = commands[name]
  if not command then fail('ERR Unknown Redis command called from script: ' .. tostring(name)) end
  return command(...)
end

function redis.pcall(...)
  local is_done, reply = pcall(redis.call, ...)
  if is_done then return reply end
  return type(reply) == 'table' and reply or {err = 'ERR ' .. tostring(reply)}
end

function redis.error_reply(said) return {err = said} end

function redis.status_reply(said) return {ok = said} end

function redis.sha1hex() error('the model of the keys has no digests') end

-- What only a client sends.

function commands.EVALSHA(digest, count, ...)
  if not loaded[digest] then fail('NOSCRIPT No matching script. Please use EVAL.') end
  KEYS, ARGV = {}, {}
  count = whole(count)
  for place = 1, select('#', ...) do
    local value = select(place, ...)
    if place <= count then KEYS[place] = value else ARGV[place - count] = value end
  end
  return compiled[digest]()
end

function commands.FLUSHALL()
  data, loaded = {}, {}
  return {ok = 'OK'}
end

local function write(reply, parts)
  local kind = type(reply)
  if kind == 'string' then
    parts[#parts + 1] = '$' .. #reply .. '\r\n' .. reply .. '\r\n'
  elseif kind == 'number' then
    -- What no integer of 64 bits can be becomes the least of them, as on the server's own machine.
    local fits = reply >= -2 ^ 63 and reply < 2 ^ 63
    local whole = not fits and -2 ^ 63 or reply >= 0 and floor(reply) or math.ceil(reply)
    parts[#parts + 1] = format(':%.0f\r\n', whole)
  elseif reply == true then
    parts[#parts + 1] = ':1\r\n'
  elseif kind ~= 'table' then
    parts[#parts + 1] = '$-1\r\n'
  elseif reply.err then
    parts[#parts + 1] = '-' .. reply.err .. '\r\n'
  elseif reply.ok then
    parts[#parts + 1] = '+' .. reply.ok .. '\r\n'
  else
    parts[#parts + 1] = '*' .. #reply .. '\r\n'
    for place = 1, #reply do write(reply[place], parts) end
  end
end

local function copied(value)
  if type(value) ~= 'table' then return value end
  local copy = {}
  for name, part in pairs(value) do copy[name] = copied(part) end
  return copy
end

local server = {}

-- Run a command at a time (µs). Return the reply as it goes over the wire, whether something was pushed, what was told.
function server.run(us, name, ...)
  now_us, pushed = us, false
  local command = commands[string.upper(name)]
  local is_done, reply = pcall(command or function() fail("ERR unknown command '" .. name .. "'") end, ...)
  if not is_done and type(reply) ~= 'table' then reply = {err = 'ERR ' .. tostring(reply)} end
  local parts = {}
  write(reply, parts)
  local heard = told
  if #heard > 0 then told = {} else heard = nil end
  return concat(parts), pushed, heard
end

-- Compile a script under its digest. It counts as loaded until the server is started again.
function server.load(digest, source)
  compiled[digest] = compiled[digest] or assert(loadstring(source, '@' .. digest))
  loaded[digest] = true
end

function server.unload() loaded = {} end

function server.empty() data, dumps, told = {}, {}, {} end

-- Remember all keys, and go back to what was remembered.
function server.remember() return copied(data) end

function server.go_back(kept) data, dumps = copied(kept), {} end

function server.list_of(key)
  local entry = data[key]
  return entry and entry.t == 'list' and entry.v or nil
end

return server
