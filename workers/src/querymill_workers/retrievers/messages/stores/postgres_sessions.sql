-- session_change: lock a session and its index entries until the transaction ends
SELECT pg_advisory_xact_lock(hashtextextended('session/' || %(collection)s || '/' || %(session_id)s, 0));

-- session_revision: the revision that is stored and indexed completely
SELECT revision FROM chat_sessions WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- session_ids: every session
SELECT session_id FROM chat_sessions WHERE collection = %(collection)s ORDER BY session_id;

-- passages_except: the stored passages of a session that are not among these
SELECT DISTINCT vector_id, vector_type, '' FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND vector_id <> ALL(%(vector_ids)s);

-- put_session: store the session's fields, and mark it incomplete
INSERT INTO chat_sessions AS s (collection, session_id, name, user_name, started_at, metadata, draft)
VALUES (%(collection)s, %(session_id)s, %(name)s, %(user_name)s, %(started_at)s, %(metadata)s, %(revision)s)
ON CONFLICT (collection, session_id) DO UPDATE SET
    name = excluded.name, user_name = excluded.user_name, started_at = excluded.started_at,
    metadata = excluded.metadata, draft = excluded.draft, revision = NULL;

-- drop_messages: drop the messages of a session that are not among these
DELETE FROM chat_messages
WHERE collection = %(collection)s AND session_id = %(session_id)s AND message_key <> ALL(%(keys)s);

-- add_messages: store the messages of a session that are new or have changed
INSERT INTO chat_messages AS m
    (collection, session_id, message_key, number, message_id, role, content, created_at, metadata)
SELECT %(collection)s, %(session_id)s, added.*
FROM unnest(
    %(keys)s::text[], %(numbers)s::integer[], %(message_ids)s::text[], %(roles)s::text[], %(contents)s::text[],
    %(times)s::timestamptz[], %(metadata)s::jsonb[]
) AS added
ON CONFLICT (collection, session_id, message_key) DO UPDATE SET
    number = excluded.number, message_id = excluded.message_id, role = excluded.role, content = excluded.content,
    created_at = excluded.created_at, metadata = excluded.metadata
WHERE (m.number, m.message_id, m.role, m.content, m.created_at, m.metadata) IS DISTINCT FROM
    (excluded.number, excluded.message_id, excluded.role, excluded.content, excluded.created_at, excluded.metadata);

-- drop_passages: drop the passages that are not among these or have other content, of every model
DELETE FROM chat_message_vectors AS v
WHERE collection = %(collection)s AND session_id = %(session_id)s AND NOT EXISTS (
    SELECT FROM unnest(%(vector_ids)s::text[], %(contents)s::text[]) AS kept (vector_id, content)
    WHERE kept.vector_id = v.vector_id AND kept.content = v.content
);

-- put_passages: store a row for each model; an existing row keeps its vector and its index entry
INSERT INTO chat_message_vectors AS v (
    collection, session_id, model, vector_id, message_key, message_id, vector_type, content, created_at, around, indexed
)
SELECT %(collection)s, %(session_id)s, model, vector_id, message_key, message_id, vector_type, content, created_at,
    CASE WHEN vector_type = 'context' THEN ARRAY(SELECT jsonb_array_elements_text(around)) END,
    EXISTS (
        SELECT FROM chat_message_vectors AS other
        WHERE other.collection = %(collection)s AND other.vector_id = added.vector_id AND other.indexed
    )
FROM unnest(
    %(vector_ids)s::text[], %(keys)s::text[], %(message_ids)s::text[], %(vector_types)s::text[], %(contents)s::text[],
    %(times)s::timestamptz[], %(arounds)s::jsonb[]
) AS added (vector_id, message_key, message_id, vector_type, content, created_at, around)
CROSS JOIN unnest(%(models)s::text[]) AS model
ON CONFLICT (collection, vector_id, model) DO UPDATE SET
    created_at = excluded.created_at, message_key = excluded.message_key, message_id = excluded.message_id,
    around = excluded.around
WHERE (v.created_at, v.message_key, v.message_id, v.around)
    IS DISTINCT FROM (excluded.created_at, excluded.message_key, excluded.message_id, excluded.around);

-- session_passages: the passages of a session, each once however many models it has
SELECT DISTINCT ON (vector_id) vector_id, vector_type, content FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- unindexed: the passages of a session that are missing from the text index
SELECT DISTINCT ON (vector_id) vector_id, vector_type, content FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND NOT indexed;

-- mark_indexed: record that passages are in the text index, unless they have changed since
UPDATE chat_message_vectors AS v SET indexed = true
FROM unnest(%(vector_ids)s::text[], %(contents)s::text[]) AS done (vector_id, content)
WHERE v.collection = %(collection)s AND v.vector_id = done.vector_id AND v.content = done.content AND NOT v.indexed;

-- complete_session: record that the revision is complete, unless another has been put since
UPDATE chat_sessions SET revision = draft
WHERE collection = %(collection)s AND session_id = %(session_id)s AND draft = %(revision)s;

-- forget_passages: drop all passages of a session, of every model
DELETE FROM chat_message_vectors WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- forget_session: drop the session's fields
DELETE FROM chat_sessions WHERE collection = %(collection)s AND session_id = %(session_id)s RETURNING session_id;

-- await_embedding: record and return the job that waits, if a vector of one of the models is missing
UPDATE chat_sessions AS s SET waiting = coalesce(s.waiting, %(token)s)
WHERE s.collection = %(collection)s AND s.session_id = %(session_id)s AND EXISTS (
    SELECT FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.session_id = %(session_id)s AND v.model = ANY(%(models)s)
        AND v.embedding IS NULL
)
RETURNING s.waiting;

-- begin_embedding: record that no job waits any more
UPDATE chat_sessions SET waiting = NULL
WHERE collection = %(collection)s AND session_id = %(session_id)s AND waiting IS NOT NULL;

-- pending: the passages of a session that have no vector of the model
SELECT vector_id, vector_type, content FROM chat_message_vectors
WHERE collection = %(collection)s AND session_id = %(session_id)s AND model = %(model)s AND embedding IS NULL
ORDER BY vector_type DESC, created_at, vector_id;

-- fill: store vectors, unless their passages have changed since
UPDATE chat_message_vectors AS v SET embedding = done.embedding::vector
FROM unnest(%(vector_ids)s::text[], %(contents)s::text[], %(embeddings)s::text[])
    AS done (vector_id, content, embedding)
WHERE v.collection = %(collection)s AND v.vector_id = done.vector_id AND v.model = %(model)s
    AND v.content = done.content;

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
    collection, session_id, model, vector_id, message_key, message_id, vector_type, content, created_at, around, indexed
)
SELECT DISTINCT ON (vector_id) collection, session_id, %(model)s, vector_id, message_key, message_id, vector_type, content,
    created_at, around, indexed
FROM chat_message_vectors WHERE collection = %(collection)s AND session_id = %(session_id)s
ON CONFLICT DO NOTHING;

-- switch_model: search by the model from now on, if no passage has a vector of the previous model only
UPDATE chat_models AS searched SET model = %(model)s
WHERE searched.collection = %(collection)s AND (searched.model = %(model)s OR NOT EXISTS (
    SELECT FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.model = searched.model AND v.embedding IS NOT NULL AND NOT EXISTS (
        SELECT FROM chat_message_vectors AS own
        WHERE own.collection = %(collection)s AND own.vector_id = v.vector_id AND own.model = %(model)s
            AND own.embedding IS NOT NULL
    )
))
RETURNING searched.model;

-- drop_other_models: drop the rows of other models where this model has a row
DELETE FROM chat_message_vectors AS v
WHERE v.collection = %(collection)s AND v.model <> %(model)s AND EXISTS (
    SELECT FROM chat_message_vectors AS own
    WHERE own.collection = %(collection)s AND own.vector_id = v.vector_id AND own.model = %(model)s
);
