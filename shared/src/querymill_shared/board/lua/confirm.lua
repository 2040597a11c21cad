-- Confirm the versions of the writes that were accepted since the server was started or lost its data: none of what is stored
-- stays above them. If that has a larger version, all of these writes are raised by the same number, so that they keep their
-- order. Until this has run, no worker begins one of them. What was accepted before keeps its version.
-- KEYS clock
-- ARGV largest_stored_us asked
local clock, largest = KEYS[1], tonumber(ARGV[1])
local version, asked, confirmed, base = unpack(redis.call('HMGET', clock, 'version', 'asked', 'confirmed', 'base'))
version, confirmed = tonumber(version) or 0, tonumber(confirmed) or 0
asked = math.max(tonumber(asked) or 0, tonumber(ARGV[2]))
-- Another worker was first. It is written again, so that this one can wait until it is on the disk.
if asked <= confirmed then
  redis.call('HSET', clock, 'confirmed', confirmed)
  return 0
end
local raised = math.max(0, largest + 1 - (tonumber(base) or version))
if raised > 0 then
  for number = confirmed + 1, asked do redis.call('HSET', clock, 'raised/' .. number, string.format('%.0f', raised)) end
end
redis.call('HSET', clock, 'version', string.format('%.0f', version + raised), 'asked', asked, 'confirmed', asked)
redis.call('HDEL', clock, 'base')
return 1
