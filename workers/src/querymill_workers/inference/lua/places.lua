-- Prepended to reserve.lua and report.lua: how many calls may be under way where no limit is set, and whose turn it is.
--
-- KEYS 2 the calls under way: "lane|collection|id" by the ms at which its lease ends. KEYS 3 the turns: for each
-- "lane|collection" its finish tag, the tag it waits with, and the ms at which it was last put off (0: it does not wait).
-- Places at first, at most, and the fewest that slow answers leave; failures leave one.
local FIRST, MOST, LEAST = 4, 512, 2
-- Answers within FINE times the best time let the number of places grow, beyond SLOW times they let it shrink. Up to
-- UNNOTICED ms more than the best time are never slow.
local FINE, SLOW, UNNOTICED = 1.4, 1.8, 100
-- A call that waits asks again within this many ms, or it has given up.
local SEEN = 300
-- While a higher lane was seen within this many ms, a lower one keeps to its share of the places.
local ABOUT = 5000
local RANKS = { interactive = 0, normal = 1, bulk = 2 }
-- No pause is longer than PAUSE ms, the breaker stays open for OPEN ms at most, and no call is booked more than AHEAD ms ahead.
local PAUSE, OPEN, AHEAD = 600000, 30000, 86400000

drop_unless('hash', KEYS[1], KEYS[3])
drop_unless('zset', KEYS[2])

-- Another program may have written what is no number, or one that is not counted exactly. It counts as none.
local function read_number(text)
    local number = tonumber(text)
    return number and number >= 0 and number <= 2 ^ 53 and number or 0
end

-- A time that is further ahead than it can be would stop the fleet for ever. It counts as none. Times are rounded to a ms.
local function read_time(text, now, ahead)
    local at = read_number(text)
    return at <= now + ahead + 1 and at or 0
end

local function read_places(text)
    local places = read_number(text)
    return places > 0 and math.min(places, MOST) or FIRST
end

-- Return the finish tag of a turn, the tag it waits with, and when it was put off. No turn is ahead of the clock.
local function read_turn(text, now, clock)
    local finish, tag, seen = string.match(text or '', '^(%S+) (%S+) (%S+)$')
    finish, tag, seen = tonumber(finish), tonumber(tag), tonumber(seen)
    if finish and tag and seen and finish <= clock and seen <= now + 1 then return finish, tag, seen end
end

-- Count the calls under way, all and by lane, and those of one lane and collection.
local function count_calls(now, own, lease)
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
    -- Twice the lease: the clocks of a cluster's servers differ.
    redis.call('ZREMRANGEBYSCORE', KEYS[2], string.format('(%.0f', now + 2 * lease), '+inf')
    local count = { all = 0, own = 0, interactive = 0, normal = 0, bulk = 0 }
    for _, call in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
        local lane = string.match(call, '^%a+')
        if RANKS[lane] then
            count.all = count.all + 1
            count[lane] = count[lane] + 1
            if string.sub(call, 1, #own) == own then count.own = count.own + 1 end
        else
            redis.call('ZREM', KEYS[2], call)
        end
    end
    return count
end

-- Start-time fair queueing by finish tags: a collection that was given much lately comes after one that was not.
-- Returns the tag of this call, and how many others that could go now come before it.
local function whose_turn(now, key, clock, cost, could_go)
    local finish = read_turn(redis.call('HGET', KEYS[3], key), now, clock) or 0
    local tag, ahead = math.max(clock, finish) + cost, 0
    local lane = string.match(key, '^%a+')
    local turns = redis.call('HGETALL', KEYS[3])
    for i = 1, #turns, 2 do
        local _, theirs, seen = read_turn(turns[i + 1], now, clock)
        local rank = string.match(turns[i], '^%a+')
        local waits = seen and seen > now - SEEN and RANKS[rank]
        if not waits then
            -- It does not wait, and is not ahead of the clock; or another program wrote it.
            redis.call('HDEL', KEYS[3], turns[i])
        elseif turns[i] ~= key then
            local first = theirs < tag or (theirs == tag and RANKS[rank] < RANKS[lane])
            if first and could_go(rank) then ahead = ahead + 1 end
        end
    end
    return tag, ahead, finish
end

local function note_turn(key, finish, tag, seen)
    redis.call('HSET', KEYS[3], key, string.format('%.2f %.2f %.0f', finish, tag, seen))
    redis.call('PEXPIRE', KEYS[3], 3600000)
end
