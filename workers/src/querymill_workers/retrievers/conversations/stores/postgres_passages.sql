-- drop_changed_passages: the passages of sessions, except those with the given keys
DELETE FROM conversation_passages AS p
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s)
    AND NOT EXISTS (
        SELECT FROM unnest(%(sessions)s::text[], %(keys)s::text[]) AS kept (session_id, key)
        WHERE kept.session_id = p.session_id AND kept.key = p.key
    );

-- drop_passages_from: the passages of sessions from a number of each on, except those with the given keys; locked in
-- order, as the jobs that embed lock them
WITH gone AS MATERIALIZED (
    SELECT p.session_id, p.key
    FROM conversation_passages AS p
    JOIN unnest(%(from_sessions)s::text[], %(from_numbers)s::integer[]) AS first (session_id, number)
        ON p.session_id = first.session_id AND p.number >= first.number
    WHERE p.collection = %(collection)s AND NOT EXISTS (
        SELECT FROM unnest(%(sessions)s::text[], %(keys)s::text[]) AS kept (session_id, key)
        WHERE kept.session_id = p.session_id AND kept.key = p.key
    )
    ORDER BY p.session_id, p.key
    FOR UPDATE OF p
)
DELETE FROM conversation_passages AS p USING gone
WHERE p.collection = %(collection)s AND p.session_id = gone.session_id AND p.key = gone.key;

-- drop_passages: all passages of a session
DELETE FROM conversation_passages WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- put_passages: insert or move passages; one whose key is stored keeps its vectors
INSERT INTO conversation_passages AS p
    (collection, session_id, key, number, place, message, start, first_at, last_at, text)
SELECT %(collection)s, added.*
FROM unnest(
    %(sessions)s::text[], %(keys)s::text[], %(numbers)s::integer[], %(places)s::integer[], %(messages)s::text[],
    %(starts)s::integer[], %(firsts)s::timestamptz[], %(lasts)s::timestamptz[], %(texts)s::text[]
) AS added
ON CONFLICT (collection, session_id, key) DO UPDATE SET
    number = excluded.number, place = excluded.place, first_at = excluded.first_at, last_at = excluded.last_at
WHERE (p.number, p.place, p.first_at, p.last_at)
    IS DISTINCT FROM (excluded.number, excluded.place, excluded.first_at, excluded.last_at);

-- last_passages: the last passage of each session
SELECT asked.session_id, last.*
FROM unnest(%(session_ids)s::text[]) AS asked (session_id)
CROSS JOIN LATERAL (
    SELECT number, place, message, start, text, first_at, last_at FROM conversation_passages
    WHERE collection = %(collection)s AND session_id = asked.session_id
    ORDER BY number DESC LIMIT 1
) AS last;

-- passage_counts: passages, and those that wait for a vector
SELECT passages.total, greatest(passages.total - vectors.total, 0)
FROM (
    SELECT count(*) AS total FROM conversation_passages AS p WHERE p.collection = %(collection)s {passages}
) AS passages
CROSS JOIN (
    SELECT count(*) AS total FROM conversation_vectors AS v {joined}
    WHERE v.collection = %(collection)s AND v.model = %(model)s {vectors}
) AS vectors;

-- nearest_exact: the nearest sessions, each by its nearest passage; every vector is compared
WITH scored AS MATERIALIZED (
    SELECT v.session_id, v.key, coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) AS cosine
    FROM conversation_vectors AS v {joined}
    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.embedding IS NOT NULL {vectors}
),
best AS (
    SELECT * FROM (
        SELECT DISTINCT ON (session_id) session_id, key, cosine FROM scored ORDER BY session_id, cosine DESC, key
    ) AS of_each
    ORDER BY cosine DESC, session_id LIMIT %(limit)s
)
SELECT best.session_id, best.cosine, p.number, p.place, p.message, p.start, p.text, p.first_at, p.last_at
FROM best
JOIN conversation_passages AS p
    ON p.collection = %(collection)s AND p.session_id = best.session_id AND p.key = best.key
ORDER BY best.cosine DESC, best.session_id;

-- as_reader_by_index: as as_reader, and make the planner use the vector index and scan on while too few rows pass
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_reader', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('hnsw.ef_search', %(ef_search)s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true);

-- nearest_approximate: the nearest sessions among the passages that the index finds, scored again in full precision
WITH scored AS MATERIALIZED (
    SELECT v.session_id, v.key, 1 - (v.embedding <=> %(vector)s::vector) AS cosine
    FROM conversation_vectors AS v
    WHERE v.collection = {collection} AND v.model = {model} AND v.embedding IS NOT NULL {sessions}
    ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT %(candidates)s
),
best AS (
    SELECT * FROM (
        SELECT DISTINCT ON (session_id) session_id, key, cosine FROM scored ORDER BY session_id, cosine DESC, key
    ) AS of_each
    ORDER BY cosine DESC, session_id LIMIT %(limit)s
)
SELECT best.session_id, best.cosine, p.number, p.place, p.message, p.start, p.text, p.first_at, p.last_at
FROM best
JOIN conversation_passages AS p
    ON p.collection = %(collection)s AND p.session_id = best.session_id AND p.key = best.key
ORDER BY best.cosine DESC, best.session_id;
