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

-- Count the calls under way, all and by lane, and those of one lane and collection.
local function count_calls(now, own)
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
    local count = { all = 0, own = 0, interactive = 0, normal = 0, bulk = 0 }
    for _, call in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
        local lane = string.match(call, '^%a+')
        count.all = count.all + 1
        count[lane] = (count[lane] or 0) + 1
        if string.sub(call, 1, #own) == own then count.own = count.own + 1 end
    end
    return count
end

-- Start-time fair queueing by finish tags: a collection that was given much lately comes after one that was not.
-- Returns the tag of this call, and how many others that could go now come before it.
local function whose_turn(now, key, clock, cost, could_go)
    local finish = string.match(redis.call('HGET', KEYS[3], key) or '', '^(%S+)')
    local tag, ahead = math.max(clock, tonumber(finish or 0)) + cost, 0
    local lane = string.match(key, '^%a+')
    local turns = redis.call('HGETALL', KEYS[3])
    for i = 1, #turns, 2 do
        local other, theirs, seen = string.match(turns[i + 1], '^(%S+) (%S+) (%S+)$')
        local waits = tonumber(seen) > now - SEEN
        if not waits and tonumber(other) <= clock then
            redis.call('HDEL', KEYS[3], turns[i])
        elseif waits and turns[i] ~= key then
            local rank = string.match(turns[i], '^%a+')
            local first = tonumber(theirs) < tag or (tonumber(theirs) == tag and RANKS[rank] < RANKS[lane])
            if first and could_go(rank) then ahead = ahead + 1 end
        end
    end
    return tag, ahead, tonumber(finish or 0)
end

local function note_turn(key, finish, tag, seen)
    redis.call('HSET', KEYS[3], key, string.format('%.2f %.2f %.0f', finish, tag, seen))
    redis.call('PEXPIRE', KEYS[3], 3600000)
end
