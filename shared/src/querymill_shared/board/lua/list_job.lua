-- List a job that was put on the board where it belongs: its steps that wait are due at once. Return the worker processes that hold
-- steps of it.
-- KEYS job steps due open dead recent
-- ARGV job_id held_prefix listed_ms
local job, steps, due, open, dead, recent = unpack(KEYS)
local id, lives = ARGV[1], {}
local state, created, ended, leader, order, deadline =
  unpack(redis.call('HMGET', job, 'state', 'created', 'ended', 'leader', 'order', 'deadline'))
if not state then return lives end
put_in(recent, created, id)
redis.call('ZREMRANGEBYRANK', recent, 0, -1001)
list_marks(job, id, tonumber(created), tonumber(ARGV[3]))
if not is_final(state) then join_rivals(job, id) end
if state == 'dead' then put_in(dead, ended or created, id) end
if is_final(state) or leader then return lives end

put_in(open, created, id)
local now, is_settled = now_ms(), true
for step in string.gmatch(order or '', '%S+') do
  local its_state, life, attempt = unpack(redis.call('HMGET', steps, step .. '.state', step .. '.life', step .. '.attempt'))
  if its_state == 'waiting' or its_state == 'running' then
    is_settled = false
    put_in(due, now, id .. ' ' .. step)
  end
  if its_state == 'running' and life and life ~= '' then
    redis.call('SADD', ARGV[2] .. life, id .. ' ' .. step .. ' ' .. attempt)
    lives[#lives + 1] = life
  end
end
if is_settled then put_in(due, now, id .. ' @settle') end
if tonumber(deadline) and tonumber(deadline) > 0 then put_in(due, deadline, id .. ' @deadline') end
return lives
