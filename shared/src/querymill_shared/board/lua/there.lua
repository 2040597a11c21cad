-- Return whether a job is on the board.
-- KEYS job
return redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], 'released') == 0 and 1 or 0
