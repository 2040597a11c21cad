-- as_reader: become the plain role that row-level security binds, for one collection, until the transaction ends
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_messages', true);

-- as_reader_by_index: the same, made to take the index of near vectors, and to look on while too few are left
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_messages', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('hnsw.ef_search', %(ef_search)s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true);

-- nearest_exact: the nearest of the first rows that the filter leaves, each of them compared
WITH scored AS MATERIALIZED (
    SELECT v.vector_id, coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) AS raw
    FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.vector_type = ANY(%(vector_types)s)
        AND v.embedding IS NOT NULL {filters}
    LIMIT %(bound)s
),
counted AS (SELECT count(*) AS examined, count(*) FILTER (WHERE raw >= %(floor)s) AS passed FROM scored),
best AS (SELECT vector_id, raw FROM scored ORDER BY raw DESC, vector_id LIMIT %(most)s)
SELECT counted.examined, counted.passed, {columns}, best.raw
FROM counted
LEFT JOIN best ON true
LEFT JOIN chat_message_vectors AS v
    ON v.collection = %(collection)s AND v.vector_id = best.vector_id AND v.model = %(model)s
{joins}
ORDER BY best.raw DESC, best.vector_id;

-- nearest_approximate: the nearest that the index finds, scored again in full precision
WITH near AS MATERIALIZED (
    SELECT
        v.vector_id, v.message_key, v.message_id, v.session_id, v.content, v.vector_type, v.created_at,
        1 - (v.embedding <=> %(vector)s::vector) AS raw
    FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.vector_type = ANY(%(vector_types)s)
        AND v.embedding IS NOT NULL {filters}
    ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT %(candidates)s
),
counted AS (SELECT count(*) AS examined, count(*) FILTER (WHERE raw >= %(floor)s) AS passed FROM near),
best AS (SELECT * FROM near ORDER BY raw DESC, vector_id LIMIT %(most)s)
SELECT counted.examined, counted.passed, {columns}, v.raw
FROM counted CROSS JOIN best AS v
{joins}
ORDER BY v.raw DESC, v.vector_id;

-- without_vector: how many rows have no vector of the model; other models on both sides of it, so that an index serves
SELECT count(DISTINCT vector_id) FROM (
    (
        SELECT v.vector_id FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.model < %(model)s AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT v.vector_id FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.model > %(model)s AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT v.vector_id FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.embedding IS NULL AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
) AS other
WHERE NOT EXISTS (
    SELECT FROM chat_message_vectors AS own
    WHERE own.collection = %(collection)s AND own.vector_id = other.vector_id AND own.model = %(model)s
        AND own.embedding IS NOT NULL
);

-- containing: rows whose content has a text in it, each once whatever its models
WITH found AS MATERIALIZED (
    SELECT DISTINCT ON (v.vector_id) v.*
    FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.vector_type = ANY(%(vector_types)s)
        AND v.content ILIKE %(pattern)s ESCAPE '\' {filters}
    ORDER BY v.vector_id
)
SELECT (SELECT count(*) FROM found), {columns}, NULL
FROM found AS v
{joins}
ORDER BY v.created_at DESC, v.vector_id
LIMIT %(most)s;

-- message_rows: named rows that the filter lets through, each once, that of the model before others
SELECT DISTINCT ON (v.vector_id)
    {columns},
    CASE WHEN v.model = %(model)s AND v.embedding IS NOT NULL
        THEN coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) END
FROM chat_message_vectors AS v
{joins}
WHERE v.collection = %(collection)s AND v.vector_id = ANY(%(vector_ids)s)
    AND v.vector_type = ANY(%(vector_types)s) {filters}
ORDER BY v.vector_id, (v.model = %(model)s) DESC;

-- session_revision: the revision that is all there
SELECT revision FROM chat_sessions WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- lock_session: one at a time changes a session
SELECT pg_advisory_xact_lock(hashtextextended(%(collection)s || '/' || %(session_id)s, 0));

-- leaving: what is stored of a session and not among these
SELECT DISTINCT vector_id, vector_type, '' FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND vector_id <> ALL(%(vector_ids)s);

-- put_session: its description; nothing is complete of it any more
INSERT INTO chat_sessions AS s (collection, session_id, name, user_name, started_at, metadata, draft)
VALUES (%(collection)s, %(session_id)s, %(name)s, %(user_name)s, %(started_at)s, %(metadata)s, %(revision)s)
ON CONFLICT (collection, session_id) DO UPDATE SET
    name = excluded.name, user_name = excluded.user_name, started_at = excluded.started_at,
    metadata = excluded.metadata, draft = excluded.draft, revision = NULL;

-- drop_messages: all of a session
DELETE FROM chat_messages WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- add_messages: all of a session
INSERT INTO chat_messages
    (collection, session_id, message_key, number, message_id, role, content, created_at, metadata)
SELECT %(collection)s, %(session_id)s, added.*
FROM unnest(
    %(keys)s::text[], %(numbers)s::integer[], %(message_ids)s::text[], %(roles)s::text[], %(contents)s::text[],
    %(times)s::timestamptz[], %(metadata)s::jsonb[]
) AS added;

-- drop_passages: what is not among these any more
DELETE FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND vector_id <> ALL(%(vector_ids)s);

-- put_passages: over those of the same id and model; an unchanged content keeps its vector and its words
INSERT INTO chat_message_vectors AS v
    (collection, session_id, model, vector_id, message_key, message_id, vector_type, content, created_at)
SELECT %(collection)s, %(session_id)s, %(model)s, added.*
FROM unnest(
    %(vector_ids)s::text[], %(keys)s::text[], %(message_ids)s::text[], %(vector_types)s::text[], %(contents)s::text[],
    %(times)s::timestamptz[]
) AS added
ON CONFLICT (collection, vector_id, model) DO UPDATE SET
    content = excluded.content, created_at = excluded.created_at, message_key = excluded.message_key,
    message_id = excluded.message_id,
    embedding = CASE WHEN v.content = excluded.content THEN v.embedding END,
    indexed = v.indexed AND v.content = excluded.content
WHERE (v.content, v.created_at) IS DISTINCT FROM (excluded.content, excluded.created_at);

-- unindexed: what of a session is not among the words
SELECT vector_id, vector_type, content FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND model = %(model)s AND NOT indexed;

-- mark_indexed: these are among the words, unless they have changed
UPDATE chat_message_vectors AS v SET indexed = true
FROM unnest(%(vector_ids)s::text[], %(contents)s::text[]) AS done (vector_id, content)
WHERE v.collection = %(collection)s AND v.vector_id = done.vector_id AND v.model = %(model)s
    AND v.content = done.content;

-- pending: what of a session lacks its vector
SELECT vector_id, vector_type, content FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND model = %(model)s AND embedding IS NULL
ORDER BY vector_type DESC, created_at, vector_id;

-- fill: vectors, unless their contents have changed
UPDATE chat_message_vectors AS v SET embedding = done.embedding::vector
FROM unnest(%(vector_ids)s::text[], %(contents)s::text[], %(embeddings)s::text[])
    AS done (vector_id, content, embedding)
WHERE v.collection = %(collection)s AND v.vector_id = done.vector_id AND v.model = %(model)s
    AND v.content = done.content;

-- complete_session: all is there of the revision, if it is still the one that is wanted
UPDATE chat_sessions SET revision = draft
WHERE collection = %(collection)s AND session_id = %(session_id)s AND draft = %(revision)s
RETURNING session_id;

-- drop_other_models: rows that the complete ones replace
DELETE FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND model <> %(model)s;
