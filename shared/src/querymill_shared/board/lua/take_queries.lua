-- Assign queries to a step, except those that another step has taken. The same call returns the same queries again.
-- KEYS job queries
-- ARGV step query...
local job, queries = unpack(KEYS)
if is_over(job) then return {} end
local mine = {}
for i = 2, #ARGV do
  if redis.call('HSETNX', queries, ARGV[i], ARGV[1]) == 1 or redis.call('HGET', queries, ARGV[i]) == ARGV[1] then
    mine[#mine + 1] = ARGV[i]
  end
end
return mine
