-- conversation_patience: wait for the lock of a session without a limit; the server ends a writer that falls silent
SELECT
    set_config('statement_timeout', '0', true),
    set_config('idle_in_transaction_session_timeout', %(silence)s, true);

-- hold_conversation: lock a session and its index entry until the transaction ends
SELECT pg_advisory_xact_lock(hashtextextended('conversation/' || %(collection)s || '/' || %(session_id)s, 0));

-- conversation_generation: the generation of a collection
SELECT generation FROM conversation_collections WHERE collection = %(collection)s;

-- conversation_sessions: sessions as they were ingested, with the parts of their ranks
SELECT c.session_id, c.document, r.base, r.depth, r.reference, r.quality
FROM conversation_collections AS k
JOIN conversations AS c ON c.collection = k.collection AND c.session_id = ANY(%(session_ids)s)
JOIN conversation_ranks AS r
    ON r.collection = k.collection AND r.version = k.version AND r.session_id = c.session_id
WHERE k.collection = %(collection)s;

-- conversation_heads: sessions without their messages except the text of the first, with the parts of their ranks
SELECT c.session_id, c.name, c.user_name, c.started_at, c.last_active, c.document::json #>> '{messages,0,text}',
    r.base, r.depth, r.reference, r.quality
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

-- conversation_active: sessions with a message in a range
SELECT session_id FROM conversations
WHERE collection = %(collection)s
    AND (%(start)s::timestamptz IS NULL OR last_active >= %(start)s)
    AND EXISTS (
        SELECT FROM unnest(times) AS moment
        WHERE (%(start)s::timestamptz IS NULL OR moment >= %(start)s)
            AND (%(end)s::timestamptz IS NULL OR moment < %(end)s)
    )
ORDER BY session_id;

-- conversation_collections_filled: collections that hold a session
SELECT collection FROM conversation_collections WHERE sessions > 0 ORDER BY collection;

-- conversation_total: add to the number of sessions
UPDATE conversation_collections SET sessions = sessions + %(change)s WHERE collection = %(collection)s;

-- conversation_stored: one session as it was ingested
SELECT document, revision FROM conversations WHERE collection = %(collection)s AND session_id = %(session_id)s;

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

-- conversation_known: the number, revision and phrases of a stored session
SELECT number, revision, phrases FROM conversations
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
    collection, session_id, name, user_name, started_at, last_active, times, document, revision, messages, keywords,
    solved, explicit, phrases, lead_phrases, facts_version
) VALUES (
    %(collection)s, %(session_id)s, %(name)s, %(user_name)s, %(started_at)s, %(last_active)s, %(times)s, %(document)s,
    %(revision)s, %(messages)s, %(keywords)s, %(solved)s, %(explicit)s, %(phrases)s, %(leading)s, %(facts_version)s
)
ON CONFLICT (collection, session_id) DO UPDATE SET
    name = excluded.name, user_name = excluded.user_name, started_at = excluded.started_at,
    last_active = excluded.last_active, times = excluded.times, document = excluded.document,
    revision = excluded.revision, messages = excluded.messages, keywords = excluded.keywords, solved = excluded.solved,
    explicit = excluded.explicit, phrases = excluded.phrases, lead_phrases = excluded.lead_phrases,
    facts_version = excluded.facts_version
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
