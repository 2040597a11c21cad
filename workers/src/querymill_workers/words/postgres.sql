-- plan_once: plan prepared statements once, whatever their values, until the transaction ends
SELECT set_config('plan_cache_mode', 'force_generic_plan', true);

-- word_versions: the same for every tokeniser version
SELECT number FROM word_indexes
WHERE collection = %(collection)s AND space = %(space)s
ORDER BY number
FOR KEY SHARE;

-- word_versions_alone: the same without one version, if it is given, locked against every other change
SELECT number FROM word_indexes
WHERE collection = %(collection)s AND space = %(space)s AND version IS DISTINCT FROM %(except)s
ORDER BY number
FOR UPDATE;

-- word_parts: the ids of documents that have an entry, and those of their other parts
SELECT part.id FROM unnest(%(documents)s::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT id FROM word_entries WHERE word_index = %(number)s AND word_entries.id = asked.id
    UNION ALL
    SELECT id FROM word_entries
    WHERE word_index = %(number)s
        AND word_entries.id >= (asked.id || %(mark)s) COLLATE "C" AND word_entries.id < (asked.id || %(end)s) COLLATE "C"
) AS part;

-- publish_word_space: make an index searchable
UPDATE word_indexes SET whole = true WHERE number = %(number)s AND NOT whole;

-- word_stale: whether indexes exist, but none of this tokeniser version that is whole
SELECT NOT bool_or(version = %(version)s AND whole) FROM word_indexes
WHERE collection = %(collection)s AND space = %(space)s;

-- word_previous_versions: the other tokeniser versions that built an index
SELECT version FROM word_indexes
WHERE collection = %(collection)s AND space = %(space)s AND version <> %(version)s
ORDER BY version;

-- known_word_entries: the ids that are indexed already
SELECT id FROM word_entries WHERE word_index = %(number)s AND id = ANY(%(ids)s);

-- count_word_entries: the entries of an index that are folded, and its tail: no entry is read that is folded
SELECT units, coalesce(string_agg(entries, ''), '') FROM word_indexes
LEFT JOIN word_tail ON word_tail.word_index = number
LEFT JOIN word_runs ON word_runs.word_index = number AND word_runs.run = word_tail.run
WHERE collection = %(collection)s AND space = %(space)s AND version = %(version)s
GROUP BY number, units;

-- clear_word_blocks: delete all blocks of an index
DELETE FROM word_blocks WHERE word_index = %(number)s;

-- clear_word_ranges: delete all groups of an index
DELETE FROM word_ranges WHERE word_index = %(number)s;

-- clear_word_tail: delete the tail of an index
DELETE FROM word_tail WHERE word_index = %(number)s;

-- clear_word_runs: delete all runs of an index
DELETE FROM word_runs WHERE word_index = %(number)s;

-- clear_word_entries: delete all entries of an index
DELETE FROM word_entries WHERE word_index = %(number)s;

-- clear_word_space: delete an index
DELETE FROM word_indexes WHERE number = %(number)s;

-- word_snapshot: what an index holds about some terms, in rows of a kind; only counts of blocks that no range meets
WITH own AS MATERIALIZED (
    SELECT number, units, length, postings FROM word_indexes
    WHERE collection = %(collection)s AND space = %(space)s AND version = %(version)s AND whole
), tail AS MATERIALIZED (
    SELECT count(*) AS runs, coalesce(string_agg(entries, ''), '') AS entries,
        coalesce(string_agg(words, ''), '') AS words, coalesce(string_agg(tfs, ''), '') AS tfs
    FROM own JOIN word_tail ON word_tail.word_index = own.number
    JOIN word_runs ON word_runs.word_index = own.number AND word_runs.run = word_tail.run
), through AS MATERIALIZED (
    SELECT coalesce(string_agg(int8send(first) || int8send(last), ''), '') AS ranges,
        min(first) AS first, max(last) AS last
    FROM own JOIN word_ranges ON word_ranges.word_index = own.number AND grp = ANY(%(groups)s::text[])
)
SELECT 'number', '', number::bigint, NULL::bytea FROM own
UNION ALL SELECT 'units', '', units, NULL FROM own
UNION ALL SELECT 'length', '', length, NULL FROM own
UNION ALL SELECT 'folded', '', postings, NULL FROM own
UNION ALL SELECT 'entries', '', runs, entries FROM tail
UNION ALL SELECT 'words', '', 0, words FROM tail
UNION ALL SELECT 'tfs', '', 0, tfs FROM tail
UNION ALL SELECT 'ranges', '', 0, ranges FROM through WHERE %(groups)s::text[] IS NOT NULL
UNION ALL SELECT 'block', term, n, CASE
        WHEN %(groups)s::text[] IS NULL THEN block.postings
        WHEN block.first <= (SELECT last FROM through) AND block.last >= (SELECT first FROM through)
        THEN block.postings
    END
FROM own JOIN word_blocks AS block ON block.word_index = own.number AND term = ANY(%(terms)s::text[]);

-- word_ids: the ids of entries by their numbers
SELECT asked.number, run.ids ->> (asked.number & 127)::int
FROM unnest(%(numbers)s::bigint[]) AS asked (number)
JOIN word_runs AS run ON run.word_index = %(number)s AND run.run = asked.number >> 7;

-- word_near: terms of blocks with the first letter and about the length of an asked one; with the tail
SELECT blocks.terms, blocks.counts, coalesce(tail.entries, ''), coalesce(tail.words, ''), coalesce(tail.tfs, '')
FROM word_indexes AS space
CROSS JOIN LATERAL (
    SELECT array_agg(term) AS terms, array_agg(n) AS counts
    FROM (
        SELECT known.term, sum(n)::bigint AS n
        FROM (
            SELECT left(term, 1) AS letter, min(length(term)) - 2 AS shortest, max(length(term)) + 2 AS longest
            FROM unnest(%(terms)s::text[]) AS asked (term) GROUP BY left(term, 1)
        ) AS asked
        JOIN word_blocks AS known ON known.word_index = space.number
            AND known.term >= letter COLLATE "C" AND known.term < (letter || chr(1114111)) COLLATE "C"
            AND length(known.term) BETWEEN shortest AND longest
        GROUP BY known.term
    ) AS known
) AS blocks
CROSS JOIN LATERAL (
    SELECT string_agg(entries, '') AS entries, string_agg(words, '') AS words, string_agg(tfs, '') AS tfs
    FROM word_tail JOIN word_runs USING (word_index, run)
    WHERE word_tail.word_index = space.number
) AS tail
WHERE collection = %(collection)s AND space.space = %(space)s AND version = %(version)s AND whole;
