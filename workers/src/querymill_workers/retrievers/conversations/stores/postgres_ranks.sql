-- hold_ranks: lock the ranks of a collection until the transaction ends
SELECT pg_advisory_xact_lock(hashtextextended('querymill ranks ' || %(collection)s, 0));

-- rank_state: the active version of references, and how the reference part is computed
SELECT version, mode FROM conversation_collections WHERE collection = %(collection)s;

-- rank_changes: sessions that wait for an update, the longest waiting first
SELECT session_id, generation FROM conversation_changes
WHERE collection = %(collection)s AND waiting
ORDER BY generation, session_id
LIMIT %(limit)s;

-- rank_facts: the facts of a session
SELECT session_id, started_at, last_active, messages, keywords, solved, explicit, phrases, lead_phrases
FROM conversations
WHERE collection = %(collection)s AND session_id = %(session_id)s;

-- rank_near_explicit: for a session that mentions an earlier one: the sessions that share two phrases or more with it
SELECT session FROM conversation_phrases
WHERE collection = %(collection)s AND phrase = ANY(%(phrases)s::bigint[])
GROUP BY session
HAVING count(*) >= 2 AND 5 * count(*) >= least(min(size), %(size)s);

-- rank_near: for any other session: the sessions that a reference may connect with it, by prefix filtering
(
    SELECT session FROM conversation_phrases
    WHERE collection = %(collection)s AND phrase = ANY(%(phrases)s::bigint[]) AND leads
    GROUP BY session HAVING count(*) >= 3
)
UNION (
    SELECT session FROM conversation_phrases
    WHERE collection = %(collection)s AND phrase = ANY(%(leading)s::bigint[])
    GROUP BY session HAVING count(*) >= 3
)
UNION (
    SELECT session FROM conversation_phrases
    WHERE collection = %(collection)s AND phrase = ANY(%(phrases)s::bigint[]) AND explicit
    GROUP BY session HAVING count(*) >= 2 AND 5 * count(*) >= %(size)s
);

-- rank_candidates: what decides whether there is a reference
SELECT session_id, started_at, explicit, phrases FROM conversations
WHERE collection = %(collection)s AND number = ANY(%(numbers)s::bigint[]);

-- rank_references: the references from a session and to it
SELECT source, target, kind, shared, size FROM conversation_references
WHERE collection = %(collection)s AND version = %(version)s AND source = %(session_id)s
UNION ALL
SELECT source, target, kind, shared, size FROM conversation_references
WHERE collection = %(collection)s AND version = %(version)s AND target = %(session_id)s;

-- rank_explicit: explicit references by their sources
SELECT source, target, kind, shared, size FROM conversation_references
WHERE collection = %(collection)s AND version = %(version)s AND source = ANY(%(sources)s) AND kind = 'explicit';

-- drop_references: remove references
DELETE FROM conversation_references AS e
USING unnest(%(sources)s::text[], %(targets)s::text[], %(kinds)s::text[]) AS gone (source, target, kind)
WHERE e.collection = %(collection)s AND e.version = %(version)s
    AND e.source = gone.source AND e.target = gone.target AND e.kind = gone.kind;

-- add_references: add references; existing ones stay
INSERT INTO conversation_references (collection, version, source, target, kind, shared, size)
SELECT %(collection)s, %(version)s, new.*
FROM unnest(
    %(sources)s::text[], %(targets)s::text[], %(kinds)s::text[], %(shared)s::smallint[], %(sizes)s::smallint[]
) AS new
ON CONFLICT DO NOTHING;

-- count_references: compute the reference parts of sessions from the stored references; a source counts once
UPDATE conversation_ranks AS r
SET referred = counted.weight, reference = least(counted.weight / %(full)s, 1)
FROM (
    SELECT target, coalesce(sum(weight), 0) AS weight
    FROM unnest(%(targets)s::text[]) AS target
    LEFT JOIN LATERAL (
        SELECT max(CASE e.kind WHEN 'explicit' THEN %(explicit)s::float8 ELSE %(implicit)s::float8 END) AS weight
        FROM conversation_references AS e
        WHERE e.collection = %(collection)s AND e.version = %(version)s AND e.target = target.target
        GROUP BY e.source
    ) AS weights ON true
    GROUP BY target
) AS counted
WHERE r.collection = %(collection)s AND r.version = %(version)s AND r.session_id = counted.target
    -- Once more, for the planner: without statistics of a young version it would read all sessions.
    AND r.session_id = ANY(%(targets)s::text[])
    AND r.referred <> counted.weight;

-- settle_changes: mark sessions as up to date, unless they have changed since
UPDATE conversation_changes AS c SET waiting = false
FROM unnest(%(session_ids)s::text[], %(generations)s::bigint[]) AS done (session_id, generation)
WHERE c.collection = %(collection)s AND c.session_id = done.session_id AND c.generation = done.generation;

-- forget_changes: remove what is noted of sessions that were dropped and wait for nothing, unless a rebuild that began
-- before is under way: what that read of them is taken out afterwards
DELETE FROM conversation_changes AS c
WHERE collection = %(collection)s AND NOT waiting
    AND NOT EXISTS (SELECT FROM conversations AS k WHERE k.collection = c.collection AND k.session_id = c.session_id)
    AND NOT EXISTS (
        SELECT FROM conversation_rebuilds AS r
        WHERE r.collection = c.collection AND r.sessions IS NULL AND r.since < c.generation
            AND r.version > (SELECT k.version FROM conversation_collections AS k WHERE k.collection = c.collection)
            AND r.begun_at > now() - interval '1 day'
    );

-- count_update: count an update, and raise the generation if it changed anything
INSERT INTO conversation_collections AS k (collection, generation, updates)
VALUES (%(collection)s, %(changes)s, 1)
ON CONFLICT (collection) DO UPDATE SET generation = k.generation + excluded.generation, updates = k.updates + 1;

-- rank_updates: the number of updates so far
SELECT updates FROM conversation_collections WHERE collection = %(collection)s;

-- rank_waiting: the number of sessions that wait for an update
SELECT count(*) FROM conversation_changes WHERE collection = %(collection)s AND waiting;

-- stale_facts: sessions whose facts are of another version, and that no other worker holds
SELECT session_id, number, phrases FROM conversations
WHERE collection = %(collection)s AND facts_version <> %(version)s
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- stale_facts_elsewhere: wait for a session that another worker holds
SELECT session_id FROM conversations
WHERE collection = %(collection)s AND facts_version <> %(version)s
LIMIT 1
FOR UPDATE;

-- hold_rebuilds: lock the list of rebuilds of a collection until the transaction ends
SELECT pg_advisory_xact_lock(hashtextextended('querymill rebuilds ' || %(collection)s, 0));

-- begin_rebuild: note a rebuild and the generation it begins with, once
INSERT INTO conversation_rebuilds (collection, rebuild, mode, since)
SELECT %(collection)s, %(rebuild)s, %(mode)s, coalesce(
    (SELECT generation FROM conversation_collections WHERE collection = %(collection)s), 0
)
WHERE NOT EXISTS (SELECT FROM conversation_rebuilds WHERE collection = %(collection)s AND rebuild = %(rebuild)s)
ON CONFLICT DO NOTHING;

-- known_rebuilds: the rebuilds of a collection, the newest first, and whether each was published
SELECT rebuild, sessions IS NOT NULL FROM conversation_rebuilds
WHERE collection = %(collection)s
ORDER BY version DESC;

-- newest_rebuild: the newest rebuild of a collection
SELECT rebuild, version, mode, since, sessions, edges FROM conversation_rebuilds
WHERE collection = %(collection)s
ORDER BY version DESC
LIMIT 1;

-- rebuild_parts: the stored parts of a rebuild
SELECT part FROM conversation_rebuild_parts WHERE collection = %(collection)s AND version = %(version)s;

-- fact_table: the facts of all sessions, by column
SELECT session_id, (extract(epoch FROM started_at) * 1000000)::bigint, explicit, cardinality(phrases), phrases
FROM conversations
WHERE collection = %(collection)s
ORDER BY started_at, session_id;

-- note_rebuild_part: note a part; no row if it was noted before
INSERT INTO conversation_rebuild_parts (collection, version, part) VALUES (%(collection)s, %(version)s, %(part)s)
ON CONFLICT DO NOTHING
RETURNING part;

-- hold_collection: lock all sessions of a collection until the transaction ends
SELECT version FROM conversation_collections WHERE collection = %(collection)s FOR UPDATE;

-- rank_all: compute the ranks of all sessions from the references of a version
INSERT INTO conversation_ranks (collection, version, session_id, base, depth, reference, quality, referred)
SELECT
    %(collection)s, %(version)s, c.session_id, least(c.messages / %(messages)s::float8, 1),
    least(c.keywords / %(keywords)s::float8, 1), least(coalesce(counted.weight, 0) / %(full)s, 1),
    CASE WHEN c.solved THEN 1.0 ELSE 0.5 END, coalesce(counted.weight, 0)
FROM conversations AS c
LEFT JOIN (
    SELECT target, sum(weight) AS weight
    FROM (
        SELECT target, max(CASE kind WHEN 'explicit' THEN %(explicit)s::float8 ELSE %(implicit)s::float8 END) AS weight
        FROM conversation_references
        WHERE collection = %(collection)s AND version = %(version)s
        GROUP BY target, source
    ) AS weights
    GROUP BY target
) AS counted ON counted.target = c.session_id
WHERE c.collection = %(collection)s;

-- rank_ids: the sessions of a collection
SELECT session_id FROM conversations WHERE collection = %(collection)s;

-- all_references: the references of a version
SELECT source, target, kind, shared, size FROM conversation_references
WHERE collection = %(collection)s AND version = %(version)s;

-- put_page_ranks: store PageRanks as reference parts
UPDATE conversation_ranks AS r SET reference = given.reference
FROM unnest(%(session_ids)s::text[], %(references)s::float8[]) AS given (session_id, reference)
WHERE r.collection = %(collection)s AND r.version = %(version)s AND r.session_id = given.session_id
    AND r.reference <> given.reference;

-- put_version_in_force: activate a version as a whole
UPDATE conversation_collections
SET version = %(version)s, mode = %(mode)s, generation = generation + 1, rebuilt_at = now()
WHERE collection = %(collection)s;

-- wait_again: sessions that changed after a rebuild began wait again; the others do not
UPDATE conversation_changes SET waiting = generation > %(since)s
WHERE collection = %(collection)s AND waiting <> (generation > %(since)s);

-- forget_references: remove references of older versions
DELETE FROM conversation_references WHERE collection = %(collection)s AND version < %(version)s;

-- forget_ranks: remove ranks of older versions
DELETE FROM conversation_ranks WHERE collection = %(collection)s AND version < %(version)s;

-- forget_rebuilds: remove older rebuilds after 7 days; until then, their workers can learn that they were superseded
DELETE FROM conversation_rebuilds
WHERE collection = %(collection)s AND version < %(version)s AND begun_at < now() - interval '7 days';

-- forget_rebuild_parts: remove parts of older versions
DELETE FROM conversation_rebuild_parts WHERE collection = %(collection)s AND version < %(version)s;

-- published_rebuild: note what a rebuild activated
UPDATE conversation_rebuilds
SET sessions = (SELECT count(*) FROM conversations WHERE collection = %(collection)s),
    edges = (
        SELECT count(*) FROM conversation_references
        WHERE collection = %(collection)s AND version = %(version)s
    )
WHERE collection = %(collection)s AND rebuild = %(rebuild)s
RETURNING sessions, edges;

-- rebuilt_before: collections whose last rebuild is older than a moment
SELECT collection, mode FROM conversation_collections WHERE sessions > 0 AND rebuilt_at < %(moment)s ORDER BY collection;

-- top_ranks: the sessions with the highest ranks as of a time
SELECT c.session_id, c.name, c.last_active, r.base, r.depth, r.reference, r.quality, r.referred
FROM conversation_collections AS k
JOIN conversation_ranks AS r ON r.collection = k.collection AND r.version = k.version
JOIN conversations AS c ON c.collection = r.collection AND c.session_id = r.session_id
WHERE k.collection = %(collection)s
ORDER BY
    %(base)s * r.base + %(depth)s * r.depth + %(reference)s * r.reference
        + %(quality)s * r.quality + %(recency)s * exp(
            greatest(extract(epoch FROM %(now)s - c.last_active)::float8 / 86400, 0) / -%(time_constant_days)s::float8
        ) DESC,
    c.session_id
LIMIT %(limit)s;
