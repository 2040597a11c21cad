-- word_space: the index of one tokeniser version, locked against clearing until the transaction ends
SELECT number FROM word_spaces
WHERE collection = %(collection)s AND space = %(space)s AND version = %(version)s
FOR KEY SHARE;

-- word_versions: the same for every tokeniser version
SELECT number FROM word_spaces
WHERE collection = %(collection)s AND space = %(space)s
ORDER BY number
FOR KEY SHARE;

-- word_versions_alone: the same without one version, if it is given, locked against every other change
SELECT number FROM word_spaces
WHERE collection = %(collection)s AND space = %(space)s AND version IS DISTINCT FROM %(except)s
ORDER BY number
FOR UPDATE;

-- add_word_space: create an index, whole if no other tokeniser version has one; repeating it changes nothing
INSERT INTO word_spaces (collection, space, version, whole)
SELECT %(collection)s, %(space)s, %(version)s, NOT EXISTS (
    SELECT FROM word_spaces WHERE collection = %(collection)s AND space = %(space)s
)
ON CONFLICT DO NOTHING;

-- publish_word_space: make an index searchable
UPDATE word_spaces SET whole = true WHERE number = %(number)s AND NOT whole;

-- word_stale: whether indexes exist, but none of this tokeniser version that is whole
SELECT NOT bool_or(version = %(version)s AND whole) FROM word_spaces
WHERE collection = %(collection)s AND space = %(space)s;

-- known_word_units: the ids that are indexed already
SELECT id FROM word_units WHERE space = %(number)s AND id = ANY(%(ids)s);

-- word_groups: the numbers of groups
SELECT name, number FROM word_groups WHERE space = %(number)s AND name = ANY(%(groups)s);

-- add_word_groups: number groups, in order, so that transactions cannot deadlock
INSERT INTO word_groups (space, name)
SELECT %(number)s, name FROM unnest(%(groups)s::text[]) AS name ORDER BY name COLLATE "C"
ON CONFLICT DO NOTHING;

-- hold_word_units: add or lock entries, in order; a length that is not null is the old one
INSERT INTO word_units (space, id, grp)
SELECT %(number)s, id, grp
FROM unnest(%(ids)s::text[], %(groups)s::int[]) AS unit (id, grp) ORDER BY id COLLATE "C"
ON CONFLICT (space, id) DO UPDATE SET id = excluded.id
RETURNING id, number, length;

-- word_units: lock existing entries, in order
SELECT number, length FROM word_units
WHERE space = %(number)s AND id = ANY(%(ids)s) ORDER BY id FOR UPDATE;

-- take_word_postings: delete the postings of entries and return their terms
DELETE FROM word_postings WHERE unit = ANY(%(units)s) RETURNING term;

-- describe_word_units: set the group and length of entries
UPDATE word_units SET grp = new.grp, length = new.length
FROM unnest(%(units)s::bigint[], %(groups)s::int[], %(lengths)s::int[]) AS new (unit, grp, length)
WHERE word_units.number = new.unit;

-- add_word_postings: insert the postings of entries
INSERT INTO word_postings (space, term, grp, unit, tf, length)
SELECT %(number)s, posting.* FROM unnest(
    %(terms)s::text[], %(groups)s::int[], %(units)s::bigint[], %(tfs)s::int[], %(lengths)s::int[]
) AS posting;

-- drop_word_units: delete entries
DELETE FROM word_units WHERE number = ANY(%(units)s);

-- count_word_units: change the totals of an index; the row lock also serialises changes of document frequencies
UPDATE word_spaces SET units = units + %(units)s, length = length + %(length)s WHERE number = %(number)s;

-- count_word_terms: change document frequencies
INSERT INTO word_frequencies (space, term, df)
SELECT %(number)s, term, change FROM unnest(%(terms)s::text[], %(changes)s::int[]) AS counted (term, change)
ON CONFLICT (space, term) DO UPDATE SET df = word_frequencies.df + excluded.df;

-- forget_word_terms: delete terms that no entry has any longer
DELETE FROM word_frequencies WHERE space = %(number)s AND term = ANY(%(terms)s) AND df = 0;

-- clear_word_postings: delete all postings of an index
DELETE FROM word_postings WHERE space = %(number)s;

-- clear_word_units: delete all entries of an index
DELETE FROM word_units WHERE space = %(number)s;

-- clear_word_frequencies: delete all document frequencies of an index
DELETE FROM word_frequencies WHERE space = %(number)s;

-- clear_word_groups: delete all groups of an index
DELETE FROM word_groups WHERE space = %(number)s;

-- clear_word_space: delete an index
DELETE FROM word_spaces WHERE number = %(number)s;

-- word_statistics: the totals of an index, document frequencies of terms, and numbers of groups
SELECT space.number, units, length, terms, dfs,
    ARRAY(SELECT number FROM word_groups WHERE word_groups.space = space.number AND name = ANY(%(groups)s::text[]))
FROM word_spaces AS space
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(term), '{}') AS terms, coalesce(array_agg(df), '{}') AS dfs
    FROM word_frequencies AS counted WHERE counted.space = space.number AND term = ANY(%(terms)s)
) AS frequencies
WHERE collection = %(collection)s AND space.space = %(space)s AND version = %(version)s AND whole;

-- word_near: for each term that no entry has, terms with the same first letter and about the same length
SELECT asked.term, coalesce(about.terms, '{}')
FROM unnest(%(terms)s::text[]) AS asked (term)
JOIN word_spaces AS space ON space.collection = %(collection)s AND space.space = %(space)s
    AND space.version = %(version)s AND space.whole
LEFT JOIN LATERAL (
    SELECT array_agg(known.term ORDER BY known.term) AS terms
    FROM word_frequencies AS known
    WHERE known.space = space.number
        AND known.term >= left(asked.term, 1) AND known.term < left(asked.term, 1) || chr(1114111)
        AND length(known.term) BETWEEN length(asked.term) - 2 AND length(asked.term) + 2
) AS about ON true
WHERE NOT EXISTS (
    SELECT FROM word_frequencies AS same WHERE same.space = space.number AND same.term = asked.term
);

-- word_bar: the score that the best entries reach by some of the query's terms alone
SELECT sum(weight * tf / (tf + %(base)s + %(slope)s * length)) AS score
FROM unnest(%(leading)s::text[], %(weights)s::float8[]) AS query (term, weight)
CROSS JOIN LATERAL (
    SELECT unit, tf, length FROM word_postings
    WHERE space = %(number)s AND term = query.term AND %(groups)s::int[] IS NULL
    UNION ALL
    SELECT unit, tf, length FROM word_postings
    WHERE space = %(number)s AND term = query.term AND grp = ANY(%(groups)s::int[])
) AS posting
GROUP BY unit ORDER BY score DESC OFFSET %(limit)s - 1 LIMIT 1;

-- word_best: the best entries and ties; other terms are looked up only for entries that they can lift that far
WITH partial AS MATERIALIZED (
    SELECT unit, min(grp) AS grp, sum(weight * tf / (tf + %(base)s + %(slope)s * length)) AS score
    FROM unnest(%(leading)s::text[], %(weights)s::float8[]) AS query (term, weight)
    CROSS JOIN LATERAL (
        SELECT grp, unit, tf, length FROM word_postings
        WHERE space = %(number)s AND term = query.term AND %(groups)s::int[] IS NULL
        UNION ALL
        SELECT grp, unit, tf, length FROM word_postings
        WHERE space = %(number)s AND term = query.term AND grp = ANY(%(groups)s::int[])
    ) AS posting
    GROUP BY unit
), candidates AS MATERIALIZED (
    SELECT unit, grp, score + (
        SELECT coalesce(sum(weight * tf / (tf + %(base)s + %(slope)s * length)), 0)
        FROM unnest(%(other)s::text[], %(other_weights)s::float8[]) AS query (term, weight)
        CROSS JOIN LATERAL (
            SELECT tf, length FROM word_postings AS posting
            WHERE space = %(number)s AND posting.term = query.term
                AND posting.grp = partial.grp AND posting.unit = partial.unit
            OFFSET 0
        ) AS posting
    ) AS score
    FROM partial
    WHERE score >= (SELECT min(score) FROM (SELECT score FROM partial ORDER BY score DESC LIMIT %(limit)s) AS best)
        - %(slack)s
)
SELECT unit.id, unit.length, counted.terms, counted.tfs
FROM candidates
CROSS JOIN LATERAL (SELECT id, length FROM word_units WHERE number = candidates.unit OFFSET 0) AS unit
CROSS JOIN LATERAL (
    SELECT array_agg(term) AS terms, array_agg(tf) AS tfs FROM word_postings AS posting
    WHERE space = %(number)s AND term = ANY(%(terms)s)
        AND posting.grp = candidates.grp AND posting.unit = candidates.unit
) AS counted
WHERE score >= (SELECT min(score) FROM (SELECT score FROM candidates ORDER BY score DESC LIMIT %(limit)s) AS best)
    - %(rounding)s;
