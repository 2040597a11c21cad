-- Return the trail of a job, '' if there is none, and that of the job whose work it shared.
-- KEYS trail
local trail = redis.pcall('GET', KEYS[1])
if type(trail) ~= 'string' then return {'', ''} end
local leader = string.match(trail, '"leader","(%x+)"')
local shared = leader and redis.pcall('GET', stem_of(KEYS[1], leader) .. 'trail')
return {trail, type(shared) == 'string' and shared or ''}
