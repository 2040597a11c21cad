-- Return whether a job is on the board.
-- KEYS job
return is_there(KEYS[1]) and 1 or 0
