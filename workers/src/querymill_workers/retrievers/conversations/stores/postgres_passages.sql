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

-- cut_sessions: the revisions whose passages are stored
UPDATE conversations AS c SET passages_of = cut.revision
FROM unnest(%(session_ids)s::text[], %(revisions)s::text[]) AS cut (session_id, revision)
WHERE c.collection = %(collection)s AND c.session_id = cut.session_id;

-- uncut_sessions: sessions whose passages are not those of their revision
SELECT session_id FROM conversations
WHERE collection = %(collection)s AND passages_of IS DISTINCT FROM revision
ORDER BY session_id LIMIT %(limit)s;

-- last_passages: the last passage of each session whose passages are of a revision
SELECT c.session_id, last.*
FROM unnest(%(session_ids)s::text[], %(revisions)s::text[]) AS asked (session_id, revision)
JOIN conversations AS c
    ON c.collection = %(collection)s AND c.session_id = asked.session_id AND c.passages_of = asked.revision
CROSS JOIN LATERAL (
    SELECT number, place, message, start, text, first_at, last_at FROM conversation_passages
    WHERE collection = %(collection)s AND session_id = c.session_id
    ORDER BY number DESC LIMIT 1
) AS last;

-- leave_passages: the model of a collection without sessions
DELETE FROM conversation_models
WHERE collection = %(collection)s AND NOT EXISTS (SELECT FROM conversations WHERE collection = %(collection)s);

-- await_embedding: note and return the job that waits, for each session that lacks a vector of one of the models
WITH asked AS MATERIALIZED (
    -- Locked in order, so that transactions cannot deadlock.
    SELECT c.session_id, given.token
    FROM conversations AS c
    JOIN unnest(%(session_ids)s::text[], %(tokens)s::text[]) AS given (session_id, token) USING (session_id)
    WHERE c.collection = %(collection)s AND EXISTS (
        SELECT FROM conversation_passages AS p CROSS JOIN unnest(%(models)s::text[]) AS needed (by)
        WHERE p.collection = %(collection)s AND p.session_id = c.session_id AND NOT EXISTS (
            SELECT FROM conversation_vectors AS v
            WHERE v.collection = %(collection)s AND v.model = needed.by AND v.session_id = p.session_id AND v.key = p.key
        )
    )
    ORDER BY c.session_id
    FOR NO KEY UPDATE OF c
)
UPDATE conversations AS c SET waiting = coalesce(c.waiting, asked.token)
FROM asked
WHERE c.collection = %(collection)s AND c.session_id = asked.session_id
RETURNING c.session_id, c.waiting;

-- begin_embedding: note that no job waits any more
WITH begun AS MATERIALIZED (
    SELECT session_id FROM conversations
    WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s) AND waiting IS NOT NULL
    ORDER BY session_id
    FOR NO KEY UPDATE
)
UPDATE conversations AS c SET waiting = NULL
FROM begun
WHERE c.collection = %(collection)s AND c.session_id = begun.session_id;

-- pending_passages: passages that wait for a vector of the model
SELECT session_id, key, text FROM conversation_passages AS p
WHERE collection = %(collection)s
    AND (%(session_ids)s::text[] IS NULL OR session_id = ANY(%(session_ids)s::text[]))
    AND NOT EXISTS (
        SELECT FROM conversation_vectors AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.session_id = p.session_id AND v.key = p.key
    )
ORDER BY session_id, number LIMIT %(limit)s;

-- lacking_sessions: how many passages of each session wait for a vector of the model
SELECT p.session_id, count(*) FROM conversation_passages AS p
JOIN conversations AS c ON c.collection = p.collection AND c.session_id = p.session_id
WHERE p.collection = %(collection)s
    AND (%(session_ids)s::text[] IS NULL OR p.session_id = ANY(%(session_ids)s::text[]))
    AND (NOT %(unawaited)s OR c.waiting IS NULL)
    AND NOT EXISTS (
        SELECT FROM conversation_vectors AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.session_id = p.session_id AND v.key = p.key
    )
GROUP BY p.session_id
ORDER BY p.session_id;

-- still_pending: those of some passages that are stored and still wait for a vector of the model
SELECT p.session_id, p.key FROM conversation_passages AS p
JOIN unnest(%(sessions)s::text[], %(keys)s::text[]) AS asked (session_id, key)
    ON asked.session_id = p.session_id AND asked.key = p.key
WHERE p.collection = %(collection)s
    AND NOT EXISTS (
        SELECT FROM conversation_vectors AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.session_id = p.session_id AND v.key = p.key
    );

-- passage_counts: passages, and those that wait for a vector, with the sessions that no release has cut yet
SELECT passages.total, greatest(passages.total - vectors.total, 0) + uncut.total
FROM (
    SELECT count(*) AS total FROM conversation_passages AS p WHERE p.collection = %(collection)s {passages}
) AS passages
CROSS JOIN (
    SELECT count(*) AS total FROM conversation_vectors AS v {joined}
    WHERE v.collection = %(collection)s AND v.model = %(model)s {vectors}
) AS vectors
CROSS JOIN (
    SELECT count(*) AS total FROM conversations AS c
    WHERE c.collection = %(collection)s AND c.passages_of IS DISTINCT FROM c.revision {sessions}
) AS uncut;

-- fill_passages: the vectors of passages that are still stored, null where the text was refused; in a fixed order, so
-- that two writers cannot deadlock
INSERT INTO conversation_vectors (collection, model, session_id, key, embedding)
SELECT %(collection)s, %(model)s, held.session_id, held.key, held.embedding::vector
FROM (
    SELECT p.session_id, p.key, done.embedding
    FROM conversation_passages AS p
    JOIN unnest(%(sessions)s::text[], %(keys)s::text[], %(embeddings)s::text[]) AS done (session_id, key, embedding)
        ON p.session_id = done.session_id AND p.key = done.key
    WHERE p.collection = %(collection)s
    ORDER BY p.session_id, p.key
    FOR KEY SHARE OF p
) AS held
ON CONFLICT (collection, model, session_id, key) DO UPDATE SET embedding = excluded.embedding;

-- drop_refused_passages: what a provider refused is tried again
DELETE FROM conversation_vectors
WHERE collection = %(collection)s AND embedding IS NULL AND (%(model)s::text IS NULL OR model = %(model)s)
    AND (%(session_ids)s::text[] IS NULL OR session_id = ANY(%(session_ids)s::text[]));

-- nearest_exact: the nearest sessions, each by its nearest passage; every vector is compared
WITH scored AS MATERIALIZED (
    SELECT v.session_id, v.key, coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) AS cosine
    FROM conversation_vectors AS v {joined}
    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.embedding IS NOT NULL {vectors} {cut}
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
    set_config('role', 'querymill_messages', true),
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
    WHERE v.collection = {collection} AND v.model = {model} AND v.embedding IS NOT NULL {cut}
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

-- passage_model: the model that searches compare
SELECT model FROM conversation_models WHERE collection = %(collection)s;

-- first_passage_model: have a collection without a model compare this one
INSERT INTO conversation_models (collection, model) VALUES (%(collection)s, %(model)s) ON CONFLICT DO NOTHING;

-- switch_passage_model: have searches compare a model of which no passage waits for a vector
INSERT INTO conversation_models (collection, model)
SELECT %(collection)s, %(model)s
WHERE NOT EXISTS (
    SELECT FROM conversation_passages AS p
    WHERE p.collection = %(collection)s
        AND NOT EXISTS (
            SELECT FROM conversation_vectors AS v
            WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.session_id = p.session_id
                AND v.key = p.key
        )
)
ON CONFLICT (collection) DO UPDATE SET model = excluded.model
RETURNING model;

-- drop_other_passage_vectors: some vectors of models that no search compares any more
DELETE FROM conversation_vectors
WHERE (collection, model, session_id, key) IN (
    SELECT collection, model, session_id, key FROM conversation_vectors
    WHERE collection = %(collection)s AND model <> %(model)s LIMIT %(limit)s
)
RETURNING 1;
