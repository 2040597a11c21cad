-- Push the bells of a job that was just submitted, if it is there and has steps of its own: a job that was refused is not there.
-- KEYS job queue...
-- ARGV bell...
if redis.call('HGET', KEYS[1], 'state') ~= 'queued' or redis.call('HEXISTS', KEYS[1], 'queues') == 0 then return 0 end
local failed = 0
for i, bell in ipairs(ARGV) do
  -- A queue's key that another program wrote must not keep the other bells from being pushed.
  if type(redis.pcall('LPUSH', KEYS[i + 1], bell)) ~= 'number' then failed = failed + 1 end
end
return failed
