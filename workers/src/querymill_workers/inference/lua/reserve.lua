-- Decide when one call may start, and charge it. One decision per grant.
--
-- KEYS 1 the account, 2-3 see places.lua. ARGV 1 lane, 2 share of the burst or of the places the lane may use, 3 floor
-- of the lane (0: it waits in line), 4 requests, 5 tokens, 6 max. ms to wait (-1: no limit), 7-8 interval and burst of
-- requests, 9-10 of tokens, 11 the call to give a place ('': a limit is set, so there are no places), 12 ms of its lease,
-- 13 whether the breaker lets it through ('1': it is made in the place of a call that has just failed), 14 ms of a pause
-- that a caller waits out whose wait has no limit.
-- Returns {'granted', ms until the call may start, epoch}, {'later', ms until to try again}, {'refused', ms it would
-- have to wait}, {'full', ms until to ask for a place again}, {'open', ms until the breaker allows a probe} or {'paused',
-- ms until the pause ends}.
--
-- A bucket is one number, the time at which it will be full again: at time s it holds burst - (full - s) / interval.
local now = read_clock() / 1000
local account = {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do account[flat[i]] = flat[i + 1] end
local function number(field) return read_number(account[field]) end
local function time(field, ahead) return read_time(account[field], now, ahead) end
local lane, share, floor = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local max_wait = tonumber(ARGV[6])

local opens = time('open_until', OPEN)
if opens > 0 and ARGV[13] ~= '1' then
    local wait = math.max(opens, time('probe_until', AHEAD)) - now
    if wait > 0 then return { 'open', math.ceil(wait) } end
end
local resumes = time('paused_until', PAUSE)
local paused = resumes - now
if max_wait < 0 and paused > tonumber(ARGV[14]) then return { 'paused', math.ceil(paused) } end

local requests = { field = 'requests_full', cost = tonumber(ARGV[4]), interval = tonumber(ARGV[7]), burst = tonumber(ARGV[8]) }
local tokens = { field = 'tokens_full', cost = tonumber(ARGV[5]), interval = tonumber(ARGV[9]), burst = tonumber(ARGV[10]) }
local earliest = math.max(now, resumes)

local function give_place(call)
    local key = string.match(call, '^(.*)|')
    if earliest > now then
        if max_wait >= 0 and earliest - now > max_wait then return { 'refused', math.ceil(earliest - now) } end
        return { 'full', math.ceil(math.min(earliest - now, 1000)) }
    end
    redis.call('HSET', KEYS[1], 'seen_' .. lane, string.format('%.0f', now))
    local limit = math.max(1, math.floor(read_places(account['places'])))
    local count = count_calls(now, key .. '|', tonumber(ARGV[12]))
    local shares = { normal = 0.75, bulk = 0.5 }
    local function room(asking)
        local left = limit - count.all
        if asking == 'interactive' then return left end
        local above = time('seen_interactive', 0)
        if asking == 'bulk' then above = math.max(above, time('seen_normal', 0)) end
        if above < now - ABOUT then return left end
        return math.min(left, math.max(1, math.floor(limit * shares[asking])) - count[asking])
    end
    local free = room(lane)
    -- One place beyond the limit is kept for a question of a collection that has none under way.
    if lane == 'interactive' and count.own == 0 and count.all <= limit then free = math.max(free, 1) end
    local weight = floor > 0 and floor or 1
    local tag, ahead, finish = whose_turn(now, key, number('turn'), math.max(tokens.cost, 1) / weight, function(other)
        return room(other) > 0
    end)
    if free <= ahead then
        note_turn(key, finish, tag, now)
        return { 'full', math.ceil(math.min(math.max(number('usual_ms') / limit / 2, 5), 100)) }
    end
    if opens > 0 then redis.call('HSET', KEYS[1], 'probe_until', string.format('%.3f', now + OPEN)) end
    note_turn(key, tag, tag, 0)
    redis.call('HSET', KEYS[1], 'turn', string.format('%.2f', math.max(number('turn'), tag)))
    redis.call('ZADD', KEYS[2], now + tonumber(ARGV[12]), call)
    redis.call('PEXPIRE', KEYS[2], 3600000)
    redis.call('PEXPIRE', KEYS[1], 3600000)
    return { 'granted', 0, account['epoch'] or '0' }
end
if ARGV[11] ~= '' then return give_place(ARGV[11]) end

local function start(bucket, usable)
    if bucket.interval == 0 or bucket.cost == 0 then return earliest end
    local burst = bucket.burst * usable
    return math.max(earliest, time(bucket.field, AHEAD) + (math.min(bucket.cost, burst) - burst) * bucket.interval)
end
local function both(usable) return math.max(start(requests, usable), start(tokens, usable)) end
local function spend(bucket, at)
    if bucket.interval == 0 or bucket.cost == 0 then return end
    -- A call larger than the burst is charged twice for the excess, or the window that starts with it would exceed the limit.
    local cost = bucket.cost + math.max(0, bucket.cost - bucket.burst)
    local full = math.max(time(bucket.field, AHEAD), at) + cost * bucket.interval
    redis.call('HSET', KEYS[1], bucket.field, string.format('%.3f', full))
end

local at = both(share)
if floor > 0 and at > now then
    local line = math.max(requests.cost * requests.interval, tokens.cost * tokens.interval)
    if time('floor_' .. lane, AHEAD) <= now and resumes <= now then
        -- Its floor entitles it to a turn: it may use the whole burst like the highest lane.
        at = both(1)
        if max_wait < 0 or at - now <= max_wait then
            redis.call('HSET', KEYS[1], 'floor_' .. lane, string.format('%.3f', now + line / floor))
        end
    else
        local turn = math.max(time('turn_' .. lane, AHEAD), math.min(at, math.max(time('floor_' .. lane, AHEAD), now)))
        if max_wait >= 0 and turn - now > max_wait then return { 'refused', math.ceil(turn - now) } end
        redis.call('HSET', KEYS[1], 'turn_' .. lane, string.format('%.3f', turn + line))
        return { 'later', math.ceil(turn - now) }
    end
end
if max_wait >= 0 and at - now > max_wait then return { 'refused', math.ceil(at - now) } end
if opens > 0 then redis.call('HSET', KEYS[1], 'probe_until', string.format('%.3f', at + OPEN)) end
spend(requests, at)
spend(tokens, at)
redis.call('PEXPIRE', KEYS[1], 3600000)
return { 'granted', math.ceil(at - now), account['epoch'] or '0' }
