-- Return the result of a job, and the id that it names if that is another's.
-- KEYS job result
local result, leader = result_of(KEYS[1], KEYS[2])
return {result, leader}
