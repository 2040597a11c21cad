-- word_due: the indexes whose tail is long for their size or old, or holds entries that are gone; the longest first
SELECT space.collection, space.space
FROM word_indexes AS space
JOIN (
    SELECT word_index, sum(postings + %(run)s) AS cost, min(since) FILTER (WHERE drops) AS gone, min(since) AS since
    FROM word_tail GROUP BY word_index
) AS tail ON tail.word_index = space.number
WHERE gone < clock_timestamp() - make_interval(secs => %(gone_after)s)
    OR since < clock_timestamp() - make_interval(secs => %(after)s)
    OR cost >= greatest(%(least)s, space.postings / %(share)s)
ORDER BY cost DESC
LIMIT %(most)s;

-- hold_word_space: lock an index against folding and clearing by others; no row if another worker folds it
SELECT number FROM word_indexes WHERE number = %(number)s FOR NO KEY UPDATE SKIP LOCKED;

-- word_tail: the first runs of the tail, up to a number of postings, and whether they are all
SELECT run, entries, words, tfs, drops, before + postings = total
FROM (
    SELECT word_index, run, drops, postings,
        sum(postings) OVER (ORDER BY run) - postings AS before, sum(postings) OVER () AS total
    FROM word_tail WHERE word_index = %(number)s
) AS tail
JOIN word_runs USING (word_index, run)
WHERE before < %(most)s
ORDER BY run;

-- add_word_postings: append postings to blocks that are being filled, or make full ones; return terms with a full one
WITH added AS MATERIALIZED (
    SELECT * FROM unnest(
        %(terms)s::text[], %(counts)s::int[], %(firsts)s::bigint[], %(lasts)s::bigint[], %(postings)s::bytea[]
    ) AS added (term, n, first, last, postings)
), written AS (
    INSERT INTO word_blocks AS block (word_index, term, block, n, first, last, postings)
    SELECT %(number)s, term, CASE WHEN n < %(full)s THEN 0 ELSE nextval('word_run_numbers') END, n, first, last, postings
    FROM added ORDER BY term COLLATE "C"
    ON CONFLICT (word_index, term, block) DO UPDATE SET
        n = block.n + excluded.n, first = least(block.first, excluded.first), last = greatest(block.last, excluded.last),
        postings = block.postings || excluded.postings
    RETURNING term, block, n
)
SELECT term FROM written WHERE block = 0 AND n >= %(full)s;

-- number_word_blocks: number blocks that are full
UPDATE word_blocks SET block = nextval('word_run_numbers')
WHERE word_index = %(number)s AND block = 0 AND term = ANY(%(terms)s);

-- word_blocks: the blocks that may hold entries
SELECT term, block, postings FROM word_blocks
WHERE word_index = %(number)s AND term = ANY(%(terms)s) AND first <= %(last)s AND last >= %(first)s;

-- replace_word_blocks: write what is left of blocks
UPDATE word_blocks AS block SET n = kept.n, first = kept.first, last = kept.last, postings = kept.postings
FROM unnest(
    %(terms)s::text[], %(blocks)s::bigint[], %(counts)s::int[],
    %(firsts)s::bigint[], %(lasts)s::bigint[], %(postings)s::bytea[]
) AS kept (term, block, n, first, last, postings)
WHERE block.word_index = %(number)s AND block.term = kept.term AND block.block = kept.block;

-- drop_word_blocks: delete blocks
DELETE FROM word_blocks AS block
USING unnest(%(terms)s::text[], %(blocks)s::bigint[]) AS gone (term, block)
WHERE block.word_index = %(number)s AND block.term = gone.term AND block.block = gone.block;

-- word_runs_whole: runs with their ids and groups
SELECT run, ids, groups, entries, words, tfs FROM word_runs WHERE word_index = %(number)s AND run = ANY(%(runs)s);

-- replace_word_run: write what is left of a run
UPDATE word_runs SET ids = %(ids)s, groups = %(groups)s, entries = %(entries)s, words = %(words)s, tfs = %(tfs)s
WHERE word_index = %(number)s AND run = %(run)s;

-- drop_word_runs_of: delete runs
DELETE FROM word_runs WHERE word_index = %(number)s AND run = ANY(%(runs)s);

-- drop_word_ranges: delete ranges of groups
DELETE FROM word_ranges AS range
USING unnest(%(names)s::text[], %(firsts)s::bigint[]) AS gone (grp, first)
WHERE range.word_index = %(number)s AND range.grp = gone.grp AND range.first = gone.first;

-- shorten_word_tail: delete runs from the tail
DELETE FROM word_tail WHERE word_index = %(number)s AND run = ANY(%(runs)s);

-- count_folded_words: change the totals of what is folded
UPDATE word_indexes SET units = units + %(units)s, length = length + %(length)s, postings = postings + %(postings)s
WHERE number = %(number)s;
