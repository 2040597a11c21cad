-- hold_collection: let other writers of documents in, but nobody who forgets the whole or backs up two stores at one moment
SELECT pg_advisory_xact_lock_shared(hashtextextended('versions/' || %(kind)s, 0)),
    pg_advisory_xact_lock_shared(hashtextextended('versions/' || %(kind)s || '/' || %(collection)s, 0));

-- hold_whole_collection: wait for the writers at work, and keep others out until the transaction ends
SELECT pg_advisory_xact_lock_shared(hashtextextended('versions/' || %(kind)s, 0)),
    pg_advisory_xact_lock(hashtextextended('versions/' || %(kind)s || '/' || %(collection)s, 0));

-- hold_documents: lock documents, in the order of their keys, so that transactions cannot deadlock
SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended('document/' || %(kind)s || '/' || %(collection)s || '/' || document, 0) AS key
    FROM unnest(%(documents)s::text[]) AS document
    ORDER BY key
    OFFSET 0
) AS keys;

-- standings: the versions and tombstones of documents
SELECT document, written_us, written_by, dropped_us, dropped_by FROM document_versions
WHERE collection = %(collection)s AND kind = %(kind)s AND document = ANY(%(documents)s);

-- tombstones: what was forgotten at once after this version was accepted, beyond single documents
SELECT scope, forgotten_us, forgotten_by FROM tombstones
WHERE collection = %(collection)s AND kind = %(kind)s
    AND (forgotten_us, forgotten_by) > (%(accepted_us)s, %(job_id)s);

-- record_versions: record the version of documents
INSERT INTO document_versions AS known (collection, kind, document, written_us, written_by)
SELECT %(collection)s, %(kind)s, document, %(accepted_us)s, %(job_id)s FROM unnest(%(documents)s::text[]) AS document
ON CONFLICT (collection, kind, document) DO UPDATE SET
    written_us = excluded.written_us, written_by = excluded.written_by;

-- leave_tombstone: leave the tombstone of a document; its version goes if it is older
INSERT INTO document_versions AS known (collection, kind, document, dropped_us, dropped_by, dropped_at)
VALUES (%(collection)s, %(kind)s, %(document)s, %(accepted_us)s, %(job_id)s, now())
ON CONFLICT (collection, kind, document) DO UPDATE SET
    dropped_us = excluded.dropped_us, dropped_by = excluded.dropped_by, dropped_at = excluded.dropped_at,
    written_us = CASE WHEN (known.written_us, known.written_by) > (excluded.dropped_us, excluded.dropped_by)
        THEN known.written_us END,
    written_by = CASE WHEN (known.written_us, known.written_by) > (excluded.dropped_us, excluded.dropped_by)
        THEN known.written_by END
WHERE known.dropped_us IS NULL OR (known.dropped_us, known.dropped_by) < (excluded.dropped_us, excluded.dropped_by);

-- leave_tombstone_of_filter: leave the tombstone of a filter, or of a whole collection
INSERT INTO tombstones (collection, kind, scope, forgotten_us, forgotten_by)
VALUES (%(collection)s, %(kind)s, %(scope)s, %(accepted_us)s, %(job_id)s)
ON CONFLICT (collection, kind, forgotten_us, forgotten_by) DO NOTHING;

-- drop_covered_versions: drop the versions that a tombstone of their whole collection covers
DELETE FROM document_versions
WHERE collection = %(collection)s AND kind = %(kind)s
    AND (written_us IS NULL OR (written_us, written_by) <= (%(accepted_us)s, %(job_id)s))
    AND (dropped_us IS NULL OR (dropped_us, dropped_by) <= (%(accepted_us)s, %(job_id)s));

-- sweep_tombstones: drop the tombstones of filters and of the collection that are too old to matter
DELETE FROM tombstones
WHERE collection = %(collection)s AND kind = %(kind)s AND forgotten_at < now() - make_interval(days => %(days)s);

-- sweep_dropped: drop tombstones of documents that are too old to matter
DELETE FROM document_versions
WHERE collection = %(collection)s AND kind = %(kind)s AND dropped_at < now() - make_interval(days => %(days)s)
    AND written_us IS NULL;

-- now_us: the time by the server's clock, in µs since the epoch
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- largest_version: the largest version of any collection that is not below a number, or 0
SELECT greatest(
    (SELECT max(written_us) FROM document_versions WHERE written_us >= %(at_least_us)s),
    (SELECT max(dropped_us) FROM document_versions WHERE dropped_us >= %(at_least_us)s),
    (SELECT max(forgotten_us) FROM tombstones WHERE forgotten_us >= %(at_least_us)s),
    0
);
