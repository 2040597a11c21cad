-- conversation_changes: raise the generation once for many sessions; its row is locked, so changes are serial
WITH raised AS (
    INSERT INTO conversation_collections AS k (collection, generation) VALUES (%(collection)s, 1)
    ON CONFLICT (collection) DO UPDATE SET generation = k.generation + 1
    RETURNING generation, version
), noted AS (
    INSERT INTO conversation_changes AS c (collection, session_id, generation)
    SELECT %(collection)s, session_id, generation FROM raised, unnest(%(session_ids)s::text[]) AS session_id
    ON CONFLICT (collection, session_id) DO UPDATE SET generation = excluded.generation, waiting = true
)
SELECT version FROM raised;

-- conversations_known: which of the sessions are stored
SELECT session_id FROM conversations WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s);

-- conversations_extended: the number, revision and phrases of sessions, and whether each mentions an earlier one
SELECT session_id, number, revision, phrases, explicit FROM conversations
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s);

-- drop_live_messages: drop the live messages of sessions
DELETE FROM conversation_messages WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s);

-- add_phrases: add the postings of sessions
INSERT INTO conversation_phrases (collection, phrase, session, size, leads, explicit)
SELECT %(collection)s, new.* FROM unnest(
    %(phrases)s::bigint[], %(numbers)s::bigint[], %(sizes)s::smallint[], %(leads)s::boolean[], %(explicit)s::boolean[]
) AS new;

-- put_ranks: write the own parts of sessions; their reference parts stay
INSERT INTO conversation_ranks (collection, version, session_id, base, depth, reference, quality, referred)
SELECT %(collection)s, %(version)s, new.session_id, new.base, new.depth, 0, new.quality, 0
FROM unnest(
    %(session_ids)s::text[], %(bases)s::float8[], %(depths)s::float8[], %(qualities)s::float8[]
) AS new (session_id, base, depth, quality)
ON CONFLICT (collection, session_id, version) DO UPDATE SET
    base = excluded.base, depth = excluded.depth, quality = excluded.quality;
