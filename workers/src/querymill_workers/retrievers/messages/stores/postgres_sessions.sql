-- revisions: the revisions that are stored and indexed completely
SELECT session_id, revision FROM chat_sessions
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s) AND revision IS NOT NULL;

-- session_ids: every session
SELECT session_id FROM chat_sessions WHERE collection = %(collection)s ORDER BY session_id;

-- put_sessions: store the fields of sessions
INSERT INTO chat_sessions AS s (collection, session_id, name, user_name, started_at, metadata, draft, revision)
SELECT %(collection)s, session_id, name, user_name, started_at, metadata, revision, revision
FROM unnest(
    %(session_ids)s::text[], %(names)s::text[], %(user_names)s::text[], %(starts)s::timestamptz[],
    %(metadata)s::jsonb[], %(revisions)s::text[]
) AS put (session_id, name, user_name, started_at, metadata, revision)
ORDER BY session_id  -- as everybody who locks several
ON CONFLICT (collection, session_id) DO UPDATE SET
    name = excluded.name, user_name = excluded.user_name, started_at = excluded.started_at,
    metadata = excluded.metadata, draft = excluded.draft, revision = excluded.revision;

-- drop_messages: drop the messages of sessions that are not among these
DELETE FROM chat_messages
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s)
    AND (session_id, message_key) NOT IN (SELECT * FROM unnest(%(of_sessions)s::text[], %(keys)s::text[]));

-- add_messages: store the messages of sessions that are new or have changed
INSERT INTO chat_messages AS m
    (collection, session_id, message_key, number, message_id, role, content, created_at, metadata)
SELECT %(collection)s, added.*
FROM unnest(
    %(of_sessions)s::text[], %(keys)s::text[], %(numbers)s::integer[], %(message_ids)s::text[], %(roles)s::text[], %(contents)s::text[],
    %(times)s::timestamptz[], %(metadata)s::jsonb[]
) AS added
ON CONFLICT (collection, session_id, message_key) DO UPDATE SET
    number = excluded.number, message_id = excluded.message_id, role = excluded.role, content = excluded.content,
    created_at = excluded.created_at, metadata = excluded.metadata
WHERE (m.number, m.message_id, m.role, m.content, m.created_at, m.metadata) IS DISTINCT FROM
    (excluded.number, excluded.message_id, excluded.role, excluded.content, excluded.created_at, excluded.metadata);

-- drop_passages: drop each text whose passages are not these, of every model; return the first passage of each
WITH kept AS (
    SELECT * FROM unnest(%(vector_ids)s::text[], %(contents)s::text[], %(passages)s::integer[])
        AS kept (vector_id, content, passages)
),
changed AS (
    SELECT DISTINCT coalesce(v.text_id, v.vector_id) AS text_id FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.session_id = ANY(%(session_ids)s) AND NOT EXISTS (
        SELECT FROM kept
        WHERE kept.vector_id = v.vector_id AND kept.content = v.content AND kept.passages = v.passages AND v.indexed
    )
),
dropped AS (
    DELETE FROM chat_message_vectors AS v USING changed
    WHERE v.collection = %(collection)s AND v.session_id = ANY(%(session_ids)s)
        AND coalesce(v.text_id, v.vector_id) = changed.text_id
    RETURNING v.session_id, v.vector_id, v.vector_type, v.number
)
SELECT DISTINCT session_id, vector_id, vector_type FROM dropped WHERE number = 0;

-- stored_texts: the texts of sessions that are stored and indexed
SELECT DISTINCT coalesce(text_id, vector_id) FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s);

-- put_passages: store a row for each model; an existing row keeps its vector
INSERT INTO chat_message_vectors AS v (
    collection, session_id, model, user_name, vector_id, message_key, message_id, vector_type, content, created_at,
    around, text_id, number, start, passages, role, metadata, indexed
)
SELECT %(collection)s, session_id, model, user_name, vector_id, message_key, message_id, vector_type, content,
    created_at, CASE WHEN vector_type = 'context' THEN ARRAY(SELECT jsonb_array_elements_text(around)) END,
    CASE WHEN passages > 1 THEN text_id END, number, start, passages, role, metadata, true
FROM unnest(
    %(of_sessions)s::text[], %(user_names)s::text[],
    %(vector_ids)s::text[], %(keys)s::text[], %(message_ids)s::text[], %(vector_types)s::text[], %(contents)s::text[],
    %(times)s::timestamptz[], %(arounds)s::jsonb[], %(text_ids)s::text[], %(numbers)s::integer[], %(starts)s::integer[],
    %(passages)s::integer[], %(roles)s::text[], %(metadata)s::jsonb[]
) AS added (
    session_id, user_name, vector_id, message_key, message_id, vector_type, content, created_at, around, text_id, number, start, passages, role,
    metadata
)
CROSS JOIN unnest(%(models)s::text[]) AS model
ON CONFLICT (collection, vector_id, model) DO UPDATE SET
    created_at = excluded.created_at, message_key = excluded.message_key, message_id = excluded.message_id,
    around = excluded.around, user_name = excluded.user_name, role = excluded.role, metadata = excluded.metadata,
    set_aside = false
WHERE (v.created_at, v.message_key, v.message_id, v.around, v.user_name, v.role, v.metadata, v.set_aside)
    IS DISTINCT FROM (
        excluded.created_at, excluded.message_key, excluded.message_id, excluded.around, excluded.user_name,
        excluded.role, excluded.metadata, false
    );

-- session_texts: the texts of a session, each once however many models and passages it has
SELECT text_id, min(vector_type), string_agg(content, '' ORDER BY number) FROM (
    SELECT DISTINCT ON (vector_id) coalesce(text_id, vector_id) AS text_id, vector_type, content, number
    FROM chat_message_vectors WHERE collection = %(collection)s AND session_id = %(session_id)s
) AS passage
GROUP BY text_id;

-- text_ids: their ids and types
SELECT DISTINCT vector_id, vector_type FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND number = 0;

-- forget_passages: drop all passages of a session, of every model, and count them once
WITH dropped AS (
    DELETE FROM chat_message_vectors WHERE collection = %(collection)s AND session_id = %(session_id)s
    RETURNING vector_id
)
SELECT count(DISTINCT vector_id) FROM dropped;

-- forget_messages: drop the messages of a session
DELETE FROM chat_messages WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- forget_session: drop the session's fields
DELETE FROM chat_sessions WHERE collection = %(collection)s AND session_id = %(session_id)s RETURNING session_id;

-- await_embedding: record and return the job that waits, in each session that lacks a vector of one of the models
WITH asked AS MATERIALIZED (
    -- Locked in order, so that transactions cannot deadlock.
    SELECT s.session_id, given.token
    FROM chat_sessions AS s
    JOIN unnest(%(session_ids)s::text[], %(tokens)s::text[]) AS given (session_id, token) USING (session_id)
    WHERE s.collection = %(collection)s AND s.session_id = ANY(%(session_ids)s) AND EXISTS (
        SELECT FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.session_id = s.session_id AND v.model = ANY(%(models)s)
            AND v.embedding IS NULL AND NOT v.set_aside
    )
    ORDER BY s.session_id
    FOR NO KEY UPDATE OF s
)
UPDATE chat_sessions AS s SET waiting = coalesce(s.waiting, asked.token)
FROM asked
WHERE s.collection = %(collection)s AND s.session_id = asked.session_id
RETURNING s.session_id, s.waiting;

-- begin_embedding: record that no job waits any more
WITH begun AS MATERIALIZED (
    SELECT session_id FROM chat_sessions
    WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s) AND waiting IS NOT NULL
    ORDER BY session_id
    FOR NO KEY UPDATE
)
UPDATE chat_sessions AS s SET waiting = NULL
FROM begun
WHERE s.collection = %(collection)s AND s.session_id = begun.session_id;

-- pending: the first passages of sessions that have no vector of the model and were not refused
SELECT vector_id, vector_type, content, session_id FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s) AND model = %(model)s AND embedding IS NULL
    AND NOT set_aside
ORDER BY vector_type DESC, created_at, vector_id
LIMIT %(limit)s;

-- pending_count: how many there are
SELECT count(*) FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s) AND model = %(model)s AND embedding IS NULL
    AND NOT set_aside;

-- fill: store vectors, unless their passages have changed since
UPDATE chat_message_vectors AS v SET embedding = done.embedding::vector
FROM unnest(%(vector_ids)s::text[], %(contents)s::text[], %(embeddings)s::text[])
    AS done (vector_id, content, embedding)
WHERE v.collection = %(collection)s AND v.vector_id = done.vector_id AND v.model = %(model)s
    AND v.content = done.content;

-- refuse: mark passages that the model's provider refused, unless they have changed since
UPDATE chat_message_vectors AS v SET set_aside = true
FROM unnest(%(vector_ids)s::text[], %(contents)s::text[]) AS refused (vector_id, content)
WHERE v.collection = %(collection)s AND v.vector_id = refused.vector_id AND v.model = %(model)s
    AND v.content = refused.content AND v.embedding IS NULL
RETURNING v.vector_id;

-- first_model: have a collection searched by the model that embeds its first session
INSERT INTO chat_models (collection, model) VALUES (%(collection)s, %(model)s) ON CONFLICT DO NOTHING;

-- searched_model: the model that a collection is searched by
SELECT model FROM chat_models WHERE collection = %(collection)s;

-- chat_collections: the collections that ever held a session
SELECT collection FROM chat_models ORDER BY collection;

-- lacking_sessions: the sessions of a part in which a passage has no vector of the model
SELECT DISTINCT v.session_id FROM chat_message_vectors AS v
WHERE v.collection = %(collection)s AND (hashtext(v.session_id) & 2147483647) %% %(parts)s = %(part)s AND NOT EXISTS (
    SELECT FROM chat_message_vectors AS own
    WHERE own.collection = %(collection)s AND own.vector_id = v.vector_id AND own.model = %(model)s
        AND own.embedding IS NOT NULL
)
ORDER BY v.session_id;

-- add_model: add a row of the model, without a vector yet, for each passage of a session
INSERT INTO chat_message_vectors (
    collection, session_id, model, vector_id, message_key, message_id, vector_type, content, created_at, around, indexed,
    text_id, number, start, passages, user_name, role, metadata
)
SELECT DISTINCT ON (vector_id) collection, session_id, %(model)s, vector_id, message_key, message_id, vector_type, content,
    created_at, around, indexed, text_id, number, start, passages, user_name, role, metadata
FROM chat_message_vectors WHERE collection = %(collection)s AND session_id = %(session_id)s
ON CONFLICT (collection, vector_id, model) DO UPDATE SET set_aside = false WHERE chat_message_vectors.set_aside;

-- switch_model: search by the model from now on, if no passage that it did not refuse has one of the previous model only
UPDATE chat_models AS searched SET model = %(model)s
WHERE searched.collection = %(collection)s AND (searched.model = %(model)s OR NOT EXISTS (
    SELECT FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.model = searched.model AND v.embedding IS NOT NULL AND NOT EXISTS (
        SELECT FROM chat_message_vectors AS own
        WHERE own.collection = %(collection)s AND own.vector_id = v.vector_id AND own.model = %(model)s
            AND (own.embedding IS NOT NULL OR own.set_aside)
    )
))
RETURNING searched.model;

-- drop_other_models: drop the rows of other models where this model has a row
DELETE FROM chat_message_vectors AS v
WHERE v.collection = %(collection)s AND v.model <> %(model)s AND EXISTS (
    SELECT FROM chat_message_vectors AS own
    WHERE own.collection = %(collection)s AND own.vector_id = v.vector_id AND own.model = %(model)s
);

-- list_sessions: sessions that pass a filter, in the order of their ids, with what a list tells of each
SELECT s.session_id, s.name, s.started_at,
    (SELECT count(*) FROM chat_messages AS m WHERE m.collection = s.collection AND m.session_id = s.session_id),
    s.metadata,
    (
        SELECT count(DISTINCT v.vector_id) FROM chat_message_vectors AS v
        WHERE v.collection = s.collection AND v.session_id = s.session_id AND v.embedding IS NULL AND NOT v.set_aside
    )
FROM chat_sessions AS s
WHERE s.collection = %(collection)s AND {filters}
    AND (%(after)s::text IS NULL OR s.session_id COLLATE "C" > %(after)s)
ORDER BY s.session_id COLLATE "C"
LIMIT %(limit)s;

-- count_sessions: how many sessions pass a filter
SELECT count(*) FROM chat_sessions AS s WHERE s.collection = %(collection)s AND {filters};

-- whole_sessions: sessions with their messages, in order
SELECT s.session_id, s.name, s.user_name, s.started_at, s.metadata,
    m.message_id, m.role, m.content, m.created_at, m.metadata
FROM chat_sessions AS s
JOIN chat_messages AS m USING (collection, session_id)
WHERE s.collection = %(collection)s AND s.session_id = ANY(%(session_ids)s)
ORDER BY s.session_id, m.number;

-- leave_collection: forget the model of a collection without sessions
DELETE FROM chat_models
WHERE collection = %(collection)s AND NOT EXISTS (
    SELECT FROM chat_sessions WHERE chat_sessions.collection = %(collection)s
)
RETURNING model;
