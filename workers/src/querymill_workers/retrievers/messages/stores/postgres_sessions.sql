-- put_sessions: store the fields of sessions
INSERT INTO chat_sessions AS s (collection, session_id, name, user_name, started_at, metadata)
SELECT %(collection)s, session_id, name, user_name, started_at, metadata
FROM unnest(
    %(session_ids)s::text[], %(names)s::text[], %(user_names)s::text[], %(starts)s::timestamptz[],
    %(metadata)s::jsonb[]
) AS put (session_id, name, user_name, started_at, metadata)
ORDER BY session_id  -- as everybody who locks several
ON CONFLICT (collection, session_id) DO UPDATE SET
    name = excluded.name, user_name = excluded.user_name, started_at = excluded.started_at,
    metadata = excluded.metadata;

-- drop_messages: drop the messages of sessions that are not among these, and what is looked up of them
WITH gone AS (
    DELETE FROM chat_messages
    WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s)
        AND (session_id, message_key) NOT IN (SELECT * FROM unnest(%(of_sessions)s::text[], %(keys)s::text[]))
    RETURNING session_id, message_key, metadata
)
DELETE FROM metadata_values AS noted
USING (
    SELECT session_id, message_key, metadata_hashes(metadata) AS value FROM gone WHERE metadata <> '{}'
) AS entry
WHERE noted.collection = %(collection)s AND noted.kind = 'chat_messages' AND noted.value = entry.value
    AND noted.document = entry.session_id AND noted.part = entry.message_key;

-- add_messages: store the messages of sessions that are new or have changed, and what is looked up of them
WITH added AS MATERIALIZED (
    SELECT * FROM unnest(
        %(of_sessions)s::text[], %(keys)s::text[], %(numbers)s::integer[], %(message_ids)s::text[], %(roles)s::text[],
        %(contents)s::text[], %(times)s::timestamptz[], %(metadata)s::jsonb[]
    ) AS added (session_id, message_key, number, message_id, role, content, created_at, metadata)
),
changed AS MATERIALIZED (
    SELECT session_id, message_key, added.metadata, known.metadata AS former
    FROM added
    LEFT JOIN (SELECT * FROM chat_messages WHERE collection = %(collection)s) AS known USING (session_id, message_key)
    WHERE added.metadata <> coalesce(known.metadata, '{}')
),
wanted AS MATERIALIZED (
    SELECT session_id, message_key, entry.* FROM changed, metadata_entries(metadata) AS entry
),
forgotten AS (
    DELETE FROM metadata_values AS noted
    USING (
        SELECT session_id, message_key, metadata_hashes(former) AS value FROM changed
        EXCEPT SELECT session_id, message_key, value FROM wanted
    ) AS entry
    WHERE noted.collection = %(collection)s AND noted.kind = 'chat_messages' AND noted.value = entry.value
        AND noted.document = entry.session_id AND noted.part = entry.message_key
),
looked_up AS (
    INSERT INTO metadata_values (collection, kind, value, document, part, field, number, text)
    SELECT %(collection)s, 'chat_messages', value, session_id, message_key, field, number, text FROM wanted
    ON CONFLICT DO NOTHING
)
INSERT INTO chat_messages AS m
    (collection, session_id, message_key, number, message_id, role, content, created_at, metadata)
SELECT %(collection)s, added.* FROM added
ON CONFLICT (collection, session_id, message_key) DO UPDATE SET
    number = excluded.number, message_id = excluded.message_id, role = excluded.role, content = excluded.content,
    created_at = excluded.created_at, metadata = excluded.metadata
WHERE (m.number, m.message_id, m.role, m.content, m.created_at, m.metadata) IS DISTINCT FROM
    (excluded.number, excluded.message_id, excluded.role, excluded.content, excluded.created_at, excluded.metadata);

-- drop_passages: drop each text whose passages are not these; return the first passage of each
WITH kept AS (SELECT * FROM unnest(%(passage_keys)s::text[], %(passages)s::integer[]) AS kept (key, passages)),
changed AS (
    SELECT DISTINCT coalesce(p.text_id, p.vector_id) AS text_id FROM chat_passages AS p
    WHERE p.collection = %(collection)s AND p.session_id = ANY(%(session_ids)s) AND NOT EXISTS (
        SELECT FROM kept WHERE kept.key = p.key AND kept.passages = p.passages
    )
),
dropped AS (
    DELETE FROM chat_passages AS p USING changed
    WHERE p.collection = %(collection)s AND p.session_id = ANY(%(session_ids)s)
        AND coalesce(p.text_id, p.vector_id) = changed.text_id
    RETURNING p.session_id, p.vector_id, p.vector_type, p.number
)
SELECT session_id, vector_id, vector_type FROM dropped WHERE number = 0;

-- stored_texts: the texts of sessions that are stored and indexed
SELECT vector_id FROM chat_passages
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s) AND number = 0;

-- put_passages: store passages; one whose key is stored keeps its vectors
INSERT INTO chat_passages AS p (
    collection, session_id, user_name, vector_id, key, message_key, message_id, vector_type, content, created_at, around,
    text_id, number, start, passages, role, metadata
)
SELECT %(collection)s, session_id, user_name, vector_id, key, message_key, message_id, vector_type, content, created_at,
    CASE WHEN vector_type = 'context' THEN ARRAY(SELECT jsonb_array_elements_text(around)) END,
    CASE WHEN passages > 1 THEN text_id END, number, start, passages, role, metadata
FROM unnest(
    %(of_sessions)s::text[], %(user_names)s::text[], %(vector_ids)s::text[], %(passage_keys)s::text[], %(keys)s::text[],
    %(message_ids)s::text[], %(vector_types)s::text[], %(contents)s::text[], %(times)s::timestamptz[], %(arounds)s::jsonb[],
    %(text_ids)s::text[], %(numbers)s::integer[], %(starts)s::integer[], %(passages)s::integer[], %(roles)s::text[],
    %(metadata)s::jsonb[]
) AS added (
    session_id, user_name, vector_id, key, message_key, message_id, vector_type, content, created_at, around, text_id,
    number, start, passages, role, metadata
)
ON CONFLICT (collection, session_id, key) DO UPDATE SET
    created_at = excluded.created_at, message_id = excluded.message_id, around = excluded.around,
    user_name = excluded.user_name, role = excluded.role, metadata = excluded.metadata
WHERE (p.created_at, p.message_id, p.around, p.user_name, p.role, p.metadata) IS DISTINCT FROM (
    excluded.created_at, excluded.message_id, excluded.around, excluded.user_name, excluded.role, excluded.metadata
);

-- session_texts: the texts of a session
SELECT coalesce(text_id, vector_id), min(vector_type), string_agg(content, '' ORDER BY number) FROM chat_passages
WHERE collection = %(collection)s AND session_id = %(session_id)s
GROUP BY coalesce(text_id, vector_id);

-- text_ids: their ids and types
SELECT vector_id, vector_type FROM chat_passages
WHERE collection = %(collection)s AND session_id = %(session_id)s AND number = 0;

-- forget_passages: drop all passages of a session, and count them
WITH dropped AS (
    DELETE FROM chat_passages WHERE collection = %(collection)s AND session_id = %(session_id)s RETURNING 1
)
SELECT count(*) FROM dropped;

-- forget_session: drop the session's fields
DELETE FROM chat_sessions WHERE collection = %(collection)s AND session_id = %(session_id)s RETURNING session_id;

-- whole_sessions: sessions with their messages, in order
SELECT s.session_id, s.name, s.user_name, s.started_at, s.metadata,
    m.message_id, m.role, m.content, m.created_at, m.metadata
FROM chat_sessions AS s
JOIN chat_messages AS m USING (collection, session_id)
WHERE s.collection = %(collection)s AND s.session_id = ANY(%(session_ids)s)
ORDER BY s.session_id, m.number;
