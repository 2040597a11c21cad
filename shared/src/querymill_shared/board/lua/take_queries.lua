-- Assign queries to a step, except those that another step has taken or, without asking, searched: its process may have held
-- all that could have taken them. The same call returns the same queries again.
-- KEYS job queries hits
-- ARGV step query...
local job, queries, hits = unpack(KEYS)
if is_over(job) then return {} end
local mine = {}
for i = 2, #ARGV do
  if redis.call('HEXISTS', hits, ARGV[i]) == 0
    and (redis.call('HSETNX', queries, ARGV[i], ARGV[1]) == 1 or redis.call('HGET', queries, ARGV[i]) == ARGV[1]) then
    mine[#mine + 1] = ARGV[i]
  end
end
return mine
