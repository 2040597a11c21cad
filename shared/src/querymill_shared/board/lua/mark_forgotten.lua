-- Note of a job that has not ended which documents were forgotten, by their names as in JSON, and whether it is a write of theirs:
-- see settle.lua. Return whether it has not ended.
-- KEYS job
-- ARGV is_write(0|1) name...
local job = KEYS[1]
if redis.call('EXISTS', job) == 0 or is_over(job) then return 0 end
redis.call('HSETNX', job, 'forgotten', 1)
local known = redis.call('HGET', job, 'forgets')
local is_read, forgets = pcall(cjson.decode, known or '')
if not is_read or type(forgets) ~= 'table' or type(forgets.names) ~= 'table' then forgets = {write = false, names = {}} end
for i = 2, #ARGV do forgets.names[#forgets.names + 1] = ARGV[i] end
forgets.write = forgets.write or ARGV[1] == '1'
redis.call('HSET', job, 'forgets', cjson.encode(forgets))
return 1
