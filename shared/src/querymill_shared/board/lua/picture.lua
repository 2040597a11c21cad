-- Return the whole job.
-- KEYS job steps hits queries request
return {picture({job = KEYS[1], steps = KEYS[2], hits = KEYS[3], queries = KEYS[4]}), redis.call('GET', KEYS[5]) or ''}
