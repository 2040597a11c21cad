-- Decide the versions of the writes that were accepted since the server was started or lost its data: none of what is stored
-- stays above them. If that has a larger version, all of these writes are raised by the same number, so that they keep their
-- order. What was accepted before keeps its version. Writes that are accepted from now on come after these and are not raised,
-- but are not begun either before the decision is on the disk: see confirm.lua.
-- KEYS clock
-- ARGV largest_stored_us asked
local clock, largest = KEYS[1], tonumber(ARGV[1])
local version, asked, _, decided, base = read_versions()
if version == 0 then version = read_clock() end  -- another program wrote over it
-- Another worker was first. It is written again, so that this one can wait until it is on the disk.
if math.min(tonumber(ARGV[2]), asked) <= decided then
  redis.call('HSET', clock, 'decided', decided)
  return decided
end
-- What was decided once stays, though another program wrote over the number up to which that is so: later writes come after it.
local field = string.format('raised/%.0f', asked)
redis.call('HSETNX', clock, field, string.format('%.0f', math.max(0, largest + 1 - (base or version))))
local raised = whole(redis.call('HGET', clock, field)) or 0
version = math.max(version + raised, largest + 1)
redis.call('HSET', clock, 'version', string.format('%.0f', version), 'asked', asked + 1, 'decided', asked + 1)
redis.call('HDEL', clock, 'base')
return asked + 1
