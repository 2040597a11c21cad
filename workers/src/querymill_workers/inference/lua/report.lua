-- Report the outcome of a call: correct the budget, pause the fleet, open or close the circuit breaker.
--
-- KEYS 1 the account, 2-3 see places.lua. ARGV 1 outcome: answered | rejected | limited | failed | cut | unused, 2 requests to give back,
-- 3 tokens used beyond those reserved (negative: to give back), 4-5 interval and burst of requests, 6-7 of
-- tokens, 8 ms to pause (-1: not reported), 9-10 requests left and ms until there are more, 11-12 the same of tokens
-- (-1: not reported), 13 consecutive failures that open the breaker, 14 ms it stays open at first, 15 the call whose
-- place is free now ('': a limit is set), 16 ms that it took, 17 its tokens if they say how long it should take (else 0),
-- 18 what is kept of a refusal ('': it was none), 19 how many are kept. KEYS 4 the refusals.
-- Returns {pause set in ms, whether this opened the breaker}.
local now = read_clock() / 1000
local outcome = ARGV[1]
if ARGV[18] ~= '' then
    drop_unless('list', KEYS[4])
    redis.pcall('LPUSH', KEYS[4], string.format('%d ', now) .. ARGV[18])
    redis.pcall('LTRIM', KEYS[4], 0, ARGV[19] - 1)
    redis.pcall('PEXPIRE', KEYS[4], 604800000)
end
local function field(name) return read_number(redis.call('HGET', KEYS[1], name)) end
local function time(name, ahead) return read_time(redis.call('HGET', KEYS[1], name), now, ahead) end
local function set(name, value) redis.call('HSET', KEYS[1], name, string.format('%.3f', value)) end
-- A count that another program wrote over begins again.
local function count_up(name)
    local count = redis.pcall('HINCRBY', KEYS[1], name, 1)
    if type(count) == 'number' and count > 0 then return count end
    redis.call('HSET', KEYS[1], name, 1)
    return 1
end

local requests = { field = 'requests_full', interval = tonumber(ARGV[4]), burst = tonumber(ARGV[5]) }
local tokens = { field = 'tokens_full', interval = tonumber(ARGV[6]), burst = tonumber(ARGV[7]) }
local function correct(bucket, units)
    if bucket.interval > 0 and units ~= 0 then
        set(bucket.field, math.max(time(bucket.field, AHEAD), now) + units * bucket.interval)
    end
end
local function empty_at(bucket, at)
    if bucket.interval > 0 then set(bucket.field, at + bucket.burst * bucket.interval) end
end
local function pause(ms)
    if now + ms <= time('paused_until', PAUSE) then return 0 end
    set('paused_until', now + ms)
    -- The buckets are empty after the pause. Grants made before it are void, because the epoch changes.
    empty_at(requests, now + ms)
    empty_at(tokens, now + ms)
    count_up('epoch')
    return ms
end
local function at_most(bucket, left)
    if left >= 0 and left < bucket.burst and bucket.interval > 0 then
        set(bucket.field, math.max(time(bucket.field, AHEAD), now + (bucket.burst - left) * bucket.interval))
    end
end
local function close()
    redis.call('HDEL', KEYS[1], 'failures', 'failed_at', 'open_until', 'probe_until', 'cooldown')
end

-- Additive increase, multiplicative decrease of the number of places.
local function adapt(took, tokens)
    local places = read_places(redis.call('HGET', KEYS[1], 'places'))
    local fine, factor, least = outcome == 'answered', nil, 1
    if outcome == 'failed' or outcome == 'limited' then factor = 0.5 end
    if fine and tokens > 0 then
        -- Calls of about the same size are compared: half-octaves of tokens.
        local size = math.floor(2 * math.log(tokens) / math.log(2))
        local usual = field('usual_' .. size)
        usual = usual == 0 and took or usual + (took - usual) / 4
        local best = field('best_' .. size)
        if best == 0 or usual < best then
            best = usual
        elseif places <= LEAST then
            -- Hardly anything else of ours was under way: this is how long it takes now.
            best = best + (usual - best) / 4
        end
        set('usual_' .. size, usual)
        set('best_' .. size, best)
        set('usual_ms', usual)
        if usual > math.max(best + UNNOTICED, SLOW * best) then factor, least = 0.7, LEAST end
        fine = usual <= math.max(best + UNNOTICED / 2, FINE * best)
    end
    local all = redis.call('ZCARD', KEYS[2])
    redis.call('ZREM', KEYS[2], ARGV[15])
    if factor then
        -- Calls that began before the last decrease, or on their way to Redis as it was made, say nothing about it.
        if now - took > time('narrowed_at', 0) + 5 then
            set('places', math.min(places, math.max(least, places * factor)))
            set('narrowed_at', now)
        end
    elseif fine and all >= math.floor(places) then
        -- Where nothing else tells how much is too much, the number grows fast until the first failure.
        local step = tokens == 0 and field('narrowed_at') == 0 and 1 or 1 / places
        set('places', math.min(places + step, MOST))
    end
end

correct(requests, -tonumber(ARGV[2]))
correct(tokens, tonumber(ARGV[3]))
local paused, opened = 0, 'no'
if ARGV[15] ~= '' then
    adapt(tonumber(ARGV[16]), tonumber(ARGV[17]))
    -- After an outage the fleet begins as it did at first.
    if outcome == 'answered' and field('open_until') > 0 then set('places', math.max(field('places'), FIRST)) end
end
if outcome == 'limited' then
    local strikes = count_up('strikes')
    local told = tonumber(ARGV[8])
    if told < 0 then told = math.min(500 * 2 ^ strikes, 30000) end
    paused = pause(told)
    close()
elseif outcome == 'answered' then
    redis.call('HDEL', KEYS[1], 'strikes')
    close()
elseif outcome == 'rejected' then
    close()
elseif outcome == 'failed' then
    if now - time('failed_at', 0) > 30000 and time('open_until', OPEN) == 0 then redis.call('HDEL', KEYS[1], 'failures') end
    local failures = count_up('failures')
    set('failed_at', now)
    if failures >= tonumber(ARGV[13]) and time('open_until', OPEN) <= now then
        local cooldown = field('cooldown')
        if cooldown == 0 or cooldown > OPEN then cooldown = tonumber(ARGV[14]) end
        set('open_until', now + cooldown)
        opened = 'open'
        set('cooldown', math.min(cooldown * 2, OPEN))
        redis.call('HDEL', KEYS[1], 'probe_until')
    end
elseif field('open_until') > 0 then
    -- A call that was unused or cut says nothing about the provider, so the next call may probe.
    redis.call('HDEL', KEYS[1], 'probe_until')
end
if outcome == 'answered' or outcome == 'cut' then
    -- A reply that was cut has headers too.
    at_most(requests, tonumber(ARGV[9]))
    at_most(tokens, tonumber(ARGV[11]))
    for i = 9, 11, 2 do
        -- Nothing is left for longer than this account's own pace would wait, so the key is also used elsewhere.
        if tonumber(ARGV[i]) == 0 and tonumber(ARGV[i + 1]) > 1000 then paused = math.max(paused, pause(tonumber(ARGV[i + 1]))) end
    end
end
redis.call('PEXPIRE', KEYS[1], 3600000)
return { math.ceil(paused), opened }
