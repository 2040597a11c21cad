-- word_space: the index of one tokeniser version, locked against clearing
SELECT number FROM word_indexes
WHERE collection = %(collection)s AND space = %(space)s AND version = %(version)s
FOR KEY SHARE;

-- add_word_space: create an index, whole if no other tokeniser version has one; repeating it changes nothing
INSERT INTO word_indexes (collection, space, version, whole)
SELECT %(collection)s, %(space)s, %(version)s, NOT EXISTS (
    SELECT FROM word_indexes WHERE collection = %(collection)s AND space = %(space)s
)
ON CONFLICT DO NOTHING;

-- word_run_numbers: numbers for runs
SELECT nextval('word_run_numbers') FROM generate_series(1, %(runs)s);

-- put_word_entries: number entries, in order, so that transactions cannot deadlock; return the previous numbers
WITH written AS (
    INSERT INTO word_entries (word_index, id, number)
    SELECT %(number)s, id, number
    FROM unnest(%(ids)s::text[], %(numbers)s::bigint[]) AS entry (id, number) ORDER BY id COLLATE "C"
    ON CONFLICT (word_index, id) DO UPDATE SET previous = word_entries.number, number = excluded.number
    RETURNING previous
)
SELECT previous FROM written WHERE previous IS NOT NULL;

-- add_word_entries: number the entries that are new; return their ids
INSERT INTO word_entries (word_index, id, number)
SELECT %(number)s, id, number
FROM unnest(%(ids)s::text[], %(numbers)s::bigint[]) AS entry (id, number) ORDER BY id COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING id;

-- hold_word_entries: lock entries, in the order in which they are written
SELECT id, number FROM word_entries WHERE word_index = %(number)s AND id = ANY(%(ids)s)
ORDER BY id COLLATE "C" FOR UPDATE;

-- drop_word_entries: delete entries, in order; return their numbers
WITH held AS MATERIALIZED (
    SELECT id FROM word_entries WHERE word_index = %(number)s AND id = ANY(%(ids)s) ORDER BY id FOR UPDATE
)
DELETE FROM word_entries USING held
WHERE word_entries.word_index = %(number)s AND word_entries.id = held.id
RETURNING number;

-- put_word_runs: add runs of new entries, to the tail too, and the ranges of their groups
WITH run AS (
    INSERT INTO word_runs (word_index, run, ids, groups, entries, words, tfs)
    SELECT %(number)s, run, ids::jsonb, groups::jsonb, entries, words, tfs
    FROM unnest(
        %(runs)s::bigint[], %(ids)s::text[], %(groups)s::text[],
        %(entries)s::bytea[], %(words)s::bytea[], %(tfs)s::bytea[]
    ) AS run (run, ids, groups, entries, words, tfs)
), ranges AS (
    INSERT INTO word_ranges (word_index, grp, first, last)
    SELECT %(number)s, grp, first, last
    FROM unnest(%(names)s::text[], %(firsts)s::bigint[], %(lasts)s::bigint[]) AS range (grp, first, last)
)
INSERT INTO word_tail (word_index, run, postings, drops)
SELECT %(number)s, run, postings, false
FROM unnest(%(runs)s::bigint[], %(postings)s::int[]) AS tail (run, postings);

-- drop_word_runs: add runs of entries that are gone; numbered now, they come after those that the entries are in
WITH run AS (
    INSERT INTO word_runs (word_index, ids, groups, entries, words, tfs)
    SELECT %(number)s, '[]', '[]', entries, words, tfs
    FROM unnest(%(entries)s::bytea[], %(words)s::bytea[], %(tfs)s::bytea[]) AS run (entries, words, tfs)
    RETURNING run, octet_length(tfs) / 4 AS postings
)
INSERT INTO word_tail (word_index, run, postings, drops)
SELECT %(number)s, run, postings, true FROM run;

-- word_runs: runs by their numbers
SELECT entries, words, tfs FROM word_runs WHERE word_index = %(number)s AND run = ANY(%(runs)s);
