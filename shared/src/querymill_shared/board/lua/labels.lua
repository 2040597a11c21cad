-- Before the prelude, for the scripts that use it: what accompanies a job and is no part of its question.
-- The record of a job holds its labels as JSON, its "owner" (the API key that submitted it), its "turn" if it supersedes others,
-- the "marks" under which it is listed, and the sets of "rivals" in which it is while it is open: see labelling.py, which makes
-- their names. A job of which nobody says such a thing has none of these, and costs nothing here.

-- What the keys of a job's shard begin with: "qm:{shard}:".
local function shard_of(job)
  return string.match(job, '^.-}:')
end

-- Return the labels of a job as they are written, and by their names. Either is nil without labels.
local function labels_of(job)
  local written = redis.call('HGET', job, 'labels')
  local is_read, labels = pcall(cjson.decode, written or '')
  if not is_read or type(labels) ~= 'table' then return nil end
  return written, labels
end

-- List a job under its labels and its idempotency key: of each, the latest thousand of a shard, for as long as trails are kept.
-- Another program's key of such a name must not stop the job.
local function list_marks(job, id, created, kept_ms)
  for mark in string.gmatch(redis.call('HGET', job, 'marks') or '', '%S+') do
    local key = shard_of(job) .. 'marked:' .. mark
    put_in(key, created, id)
    redis.pcall('ZREMRANGEBYSCORE', key, '-inf', created - kept_ms)
    redis.pcall('ZREMRANGEBYRANK', key, 0, -1001)
    redis.pcall('PEXPIRE', key, kept_ms)
  end
end

-- Note that a job may be superseded by a later one with one of its labels.
local function join_rivals(job, id)
  for rivals in string.gmatch(redis.call('HGET', job, 'rivals') or '', '%S+') do
    local key = shard_of(job) .. 'rivals:' .. rivals
    add_to(key, id)
    redis.pcall('PEXPIRE', key, 604800000)
  end
end

-- Write what accompanies a job, if anything does, into its record, and list it.
local function note_beside(job, id, created, beside, kept_ms)
  if beside == '' then return end
  for field, value in pairs(cjson.decode(beside)) do redis.call('HSET', job, field, value) end
  list_marks(job, id, created, kept_ms)
  join_rivals(job, id)
end

-- A job has ended for its own caller: no later one supersedes it. Count it under each of its labels, by the day; of a shard the
-- thousand largest stay. Return its labels as they are written, or ''.
local function end_labels(job, id, now)
  local written, labels = labels_of(job)
  local day = shard_of(job) .. 'labelled:' .. string.format('%d', math.floor(now / 86400000))
  for rivals in string.gmatch(written and redis.call('HGET', job, 'rivals') or '', '%S+') do
    redis.pcall('SREM', shard_of(job) .. 'rivals:' .. rivals, id)
  end
  for name, value in pairs(labels or {}) do
    redis.pcall('ZINCRBY', day, 1, tostring(name) .. ':' .. tostring(value))
    redis.pcall('ZREMRANGEBYRANK', day, 0, -1001)
    redis.pcall('PEXPIRE', day, 172800000)
  end
  return written or ''
end

-- Return a result with other labels, as they are written, or without any if they are nil. They stand at its beginning.
local function relabelled(result, labels, others)
  local before = labels and '{"labels":' .. labels .. ',' or '{'
  if labels == others or string.sub(result, 1, #before) ~= before then return result end
  return (others and '{"labels":' .. others .. ',' or '{') .. string.sub(result, #before + 1)
end

