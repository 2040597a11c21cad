-- conversation_generation: the generation of a collection
SELECT generation FROM conversation_collections WHERE collection = %(collection)s;

-- conversation_sessions: sessions with the parts of their ranks
SELECT c.session_id, c.document, c.whole, c.said, r.base, r.depth, r.reference, r.quality
FROM conversation_collections AS k
JOIN conversations AS c ON c.collection = k.collection AND c.session_id = ANY(%(session_ids)s)
JOIN conversation_ranks AS r
    ON r.collection = k.collection AND r.version = k.version AND r.session_id = c.session_id
WHERE k.collection = %(collection)s;

-- conversation_live: the live messages of sessions, in the order of their acceptance
SELECT session_id, accepted_us, job_id, place, message FROM conversation_messages
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s)
ORDER BY session_id, accepted_us, job_id, place;

-- conversation_heads: sessions without their messages except the text of the first, with the parts of their ranks
SELECT c.session_id, c.name, c.user_name, c.started_at, c.last_active, c.document::json #>> '{messages,0,text}',
    c.metadata, r.base, r.depth, r.reference, r.quality
FROM conversation_collections AS k
JOIN conversations AS c ON c.collection = k.collection AND c.session_id = ANY(%(session_ids)s)
JOIN conversation_ranks AS r
    ON r.collection = k.collection AND r.version = k.version AND r.session_id = c.session_id
WHERE k.collection = %(collection)s;

-- conversation_referred: the references to sessions
SELECT e.source, e.target, e.kind, e.shared, e.size
FROM conversation_collections AS k
JOIN conversation_references AS e
    ON e.collection = k.collection AND e.version = k.version AND e.target = ANY(%(session_ids)s)
WHERE k.collection = %(collection)s
ORDER BY e.target, e.source, e.kind;

-- leave_changes: forget which sessions of an empty collection changed
DELETE FROM conversation_changes WHERE collection = %(collection)s;

-- leave_references: drop the references of an empty collection
DELETE FROM conversation_references WHERE collection = %(collection)s;

-- leave_ranks: drop the ranks of an empty collection
DELETE FROM conversation_ranks WHERE collection = %(collection)s;

-- leave_rebuilds: forget the rebuilds of an empty collection
DELETE FROM conversation_rebuilds WHERE collection = %(collection)s;

-- leave_rebuild_parts: forget the parts of rebuilds of an empty collection
DELETE FROM conversation_rebuild_parts WHERE collection = %(collection)s;

-- conversations_held: how many sessions a collection has; its row is locked against changes
SELECT sessions FROM conversation_collections WHERE collection = %(collection)s FOR UPDATE;

-- conversation_total: add to the number of sessions
UPDATE conversation_collections SET sessions = sessions + %(change)s WHERE collection = %(collection)s;

-- conversation_stored: sessions as they were last written
SELECT session_id, document, whole, said, revision FROM conversations
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s);

-- conversation_outlines: what it takes to add messages to sessions without reading them
SELECT session_id, started_at, last_active, messages, keywords, solved, explicit, phrases, facts_version, revision,
    sketch, said, whole
FROM conversations
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s) AND sketch IS NOT NULL;

-- conversation_signs: the live messages of sessions without their texts, in the order of their acceptance
SELECT session_id, accepted_us, job_id, message ->> 'message_id', signs FROM conversation_messages
WHERE collection = %(collection)s AND session_id = ANY(%(session_ids)s)
ORDER BY session_id, accepted_us, job_id, place;

-- add_conversation_messages: add live messages; those of an earlier attempt stay
INSERT INTO conversation_messages (collection, session_id, accepted_us, job_id, place, signs, message)
SELECT %(collection)s, live.* FROM unnest(
    %(session_ids)s::text[], %(accepted_us)s::bigint[], %(job_ids)s::text[], %(places)s::int[], %(signs)s::smallint[],
    %(messages)s::json[]
) AS live
ON CONFLICT DO NOTHING;

-- drop_conversation_messages: drop the live messages of a session
DELETE FROM conversation_messages WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- extend_conversation: add to a session what it is with more messages
UPDATE conversations SET
    name = coalesce(%(name)s, name), user_name = coalesce(%(user_name)s, user_name), last_active = %(last_active)s,
    messages = %(messages)s, keywords = %(keywords)s, solved = %(solved)s, explicit = %(explicit)s,
    revision = %(revision)s, said = %(said)s, sketch = %(sketch)s
WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- replace_conversation_phrases: replace the key phrases of a session
UPDATE conversations SET phrases = %(phrases)s, lead_phrases = %(leading)s
WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- conversation_change: raise the generation; its row is locked until the transaction ends, so changes are serial
WITH raised AS (
    INSERT INTO conversation_collections AS k (collection, generation) VALUES (%(collection)s, 1)
    ON CONFLICT (collection) DO UPDATE SET generation = k.generation + 1
    RETURNING generation, version
), noted AS (
    INSERT INTO conversation_changes AS c (collection, session_id, generation)
    SELECT %(collection)s, %(session_id)s, generation FROM raised
    ON CONFLICT (collection, session_id) DO UPDATE SET generation = excluded.generation, waiting = true
)
SELECT version FROM raised;

-- conversation_known: the number, revision and phrases of a stored session, and whether it mentions an earlier one
SELECT number, revision, phrases, explicit FROM conversations
WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- conversation_rarity: how many sessions have each phrase, counted up to a bound
SELECT asked.phrase, (
    SELECT count(*) FROM (
        SELECT FROM conversation_phrases AS p
        WHERE p.collection = %(collection)s AND p.phrase = asked.phrase
        LIMIT %(bound)s
    ) AS few
)
FROM unnest(%(phrases)s::bigint[]) AS asked (phrase);

-- put_conversation: insert a session, or replace it
INSERT INTO conversations (
    collection, session_id, name, user_name, started_at, last_active, document, revision, messages, keywords,
    solved, explicit, phrases, lead_phrases, facts_version, whole, said, sketch, metadata
) VALUES (
    %(collection)s, %(session_id)s, %(name)s, %(user_name)s, %(started_at)s, %(last_active)s, %(document)s,
    %(revision)s, %(messages)s, %(keywords)s, %(solved)s, %(explicit)s, %(phrases)s, %(leading)s, %(facts_version)s,
    %(whole)s, %(said)s, %(sketch)s, %(metadata)s
)
ON CONFLICT (collection, session_id) DO UPDATE SET
    name = excluded.name, user_name = excluded.user_name, started_at = excluded.started_at,
    last_active = excluded.last_active, document = excluded.document,
    revision = excluded.revision, messages = excluded.messages, keywords = excluded.keywords, solved = excluded.solved,
    explicit = excluded.explicit, phrases = excluded.phrases, lead_phrases = excluded.lead_phrases,
    facts_version = excluded.facts_version, whole = excluded.whole, said = excluded.said, sketch = excluded.sketch,
    metadata = excluded.metadata
RETURNING number;

-- put_conversation_rank: write a session's own parts; its reference part stays
INSERT INTO conversation_ranks (collection, version, session_id, base, depth, reference, quality, referred)
VALUES (%(collection)s, %(version)s, %(session_id)s, %(base)s, %(depth)s, 0, %(quality)s, 0)
ON CONFLICT (collection, session_id, version) DO UPDATE SET
    base = excluded.base, depth = excluded.depth, quality = excluded.quality;

-- drop_conversation_phrases: remove the postings of a session
DELETE FROM conversation_phrases
WHERE collection = %(collection)s AND phrase = ANY(%(phrases)s::bigint[]) AND session = %(number)s;

-- add_conversation_phrases: add the postings of a session
INSERT INTO conversation_phrases (collection, phrase, session, size, leads, explicit)
SELECT
    %(collection)s, phrase, %(number)s, cardinality(%(phrases)s::bigint[]), phrase = ANY(%(leading)s::bigint[]),
    %(explicit)s
FROM unnest(%(phrases)s::bigint[]) AS phrase;

-- drop_conversation: drop a session
DELETE FROM conversations WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- drop_conversation_rank: drop the rank of a session
DELETE FROM conversation_ranks
WHERE collection = %(collection)s AND version = %(version)s AND session_id = %(session_id)s;

-- largest_version: the largest version of what was added to a session of any collection that is not below a number, or 0
SELECT greatest(
    (SELECT max(accepted_us) FROM conversation_messages WHERE accepted_us >= %(at_least_us)s),
    (SELECT max((heard ->> 0)::bigint) FROM conversations, jsonb_each(said) AS field (name, heard)
        WHERE said <> '{}' AND (heard ->> 0)::bigint >= %(at_least_us)s),
    0
);
