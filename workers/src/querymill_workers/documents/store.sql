-- given_documents: documents that are put: all that is known of them is new
SELECT
    given.document, given.revision, given.title, given.size, given.unit, given.occurred_at,
    given.times::timestamptz[] AS times, given.times::timestamptz[] AS looked_up, given.reserved, given.metadata,
    known.times AS previous_times, known.metadata || known.reserved AS previous,
    NULL::timestamptz AS known_first, NULL::timestamptz AS known_last
FROM unnest(
    %(documents)s::text[], %(revisions)s::text[], %(titles)s::text[], %(sizes)s::integer[], %(units)s::text[],
    %(moments)s::timestamptz[], %(times)s::text[], %(reserved)s::jsonb[], %(metadata)s::jsonb[]
) AS given (document, revision, title, size, unit, occurred_at, times, reserved, metadata)
LEFT JOIN documents AS known
    ON known.collection = %(collection)s AND known.retriever = %(retriever)s AND known.document = given.document

-- extended_documents: stored documents with what is added to them; only their new times are looked at, however many they have
SELECT
    given.document, given.revision, known.title, given.size, known.unit, known.occurred_at,
    known.times || given.times::timestamptz[] AS times, given.times::timestamptz[] AS looked_up,
    known.reserved || (
        SELECT coalesce(jsonb_object_agg(name, CASE jsonb_typeof(new) WHEN 'array' THEN (
            SELECT jsonb_agg(DISTINCT element)
            FROM jsonb_array_elements(coalesce(nullif(known.reserved -> name, 'null'), '[]') || new) AS element
        ) ELSE new END), '{{}}')
        FROM jsonb_each(given.reserved) AS field (name, new) WHERE new <> 'null'
    ) AS reserved,
    known.metadata, '{{}}'::timestamptz[] AS previous_times, known.metadata || known.reserved AS previous,
    known.first_at AS known_first, known.last_at AS known_last
FROM unnest(
    %(documents)s::text[], %(revisions)s::text[], %(sizes)s::integer[], %(times)s::text[], %(reserved)s::jsonb[]
) AS given (document, revision, size, times, reserved)
JOIN documents AS known
    ON known.collection = %(collection)s AND known.retriever = %(retriever)s AND known.document = given.document

-- put_documents: store documents, and what is looked up of them
WITH given AS MATERIALIZED ({given}),
wanted AS MATERIALIZED (
    SELECT given.document, entry.*
    FROM given, document_entries(%(retriever)s, given.looked_up, given.metadata || given.reserved) AS entry
),
dropped AS (
    DELETE FROM metadata_values AS noted
    USING (
        SELECT given.document, entry.kind, entry.value
        FROM given, document_entries(%(retriever)s, given.previous_times, given.previous) AS entry
        WHERE given.previous IS NOT NULL
        EXCEPT SELECT document, kind, value FROM wanted
    ) AS gone
    WHERE noted.collection = %(collection)s AND noted.kind = gone.kind AND noted.value = gone.value
        AND noted.document = gone.document AND noted.part = ''
),
added AS (
    INSERT INTO metadata_values (collection, kind, value, document, part, field, number, text)
    SELECT %(collection)s, kind, value, document, '', field, number, text FROM wanted
    ON CONFLICT DO NOTHING
)
INSERT INTO documents (
    collection, retriever, document, revision, title, size, unit, occurred_at, times, first_at, last_at, reserved, metadata
)
SELECT
    %(collection)s, %(retriever)s, document, revision, title, size, unit, occurred_at, times,
    least(known_first, (SELECT min(moment) FROM unnest(looked_up) AS moment)),
    greatest(known_last, (SELECT max(moment) FROM unnest(looked_up) AS moment)), reserved, metadata
FROM given
ORDER BY document COLLATE "C"
ON CONFLICT (collection, retriever, document) DO UPDATE SET
    revision = excluded.revision, title = excluded.title, size = excluded.size, unit = excluded.unit,
    occurred_at = excluded.occurred_at, times = excluded.times, first_at = excluded.first_at,
    last_at = excluded.last_at, reserved = excluded.reserved, metadata = excluded.metadata;

-- drop_documents: drop documents, and what is looked up of them
WITH gone AS (
    DELETE FROM documents
    WHERE collection = %(collection)s AND retriever = %(retriever)s AND document = ANY(%(documents)s)
    RETURNING document, times, metadata || reserved AS fields
)
DELETE FROM metadata_values AS noted
USING (
    SELECT gone.document, entry.kind, entry.value
    FROM gone, document_entries(%(retriever)s, gone.times, gone.fields) AS entry
) AS entry
WHERE noted.collection = %(collection)s AND noted.kind = entry.kind AND noted.value = entry.value
    AND noted.document = entry.document AND noted.part = '';

-- listed_documents: a page of the documents that pass a filter
SELECT document, title, occurred_at, size, unit, metadata FROM documents AS d
WHERE collection = %(collection)s AND retriever = %(retriever)s AND {passes}
    AND (%(after)s::text IS NULL OR document > %(after)s)
ORDER BY document LIMIT %(limit)s;

-- count_documents: how many documents pass a filter
SELECT count(*) FROM documents AS d
WHERE collection = %(collection)s AND retriever = %(retriever)s AND {passes};

-- passing_documents: the documents that pass a filter
SELECT document FROM documents AS d
WHERE collection = %(collection)s AND retriever = %(retriever)s AND {passes}
ORDER BY document;

-- document_revisions: the revisions of documents, or of all
SELECT document, revision FROM documents
WHERE collection = %(collection)s AND retriever = %(retriever)s
    AND (%(documents)s::text[] IS NULL OR document = ANY(%(documents)s::text[]));

-- document_collections: the collections that hold a document
SELECT DISTINCT collection FROM documents WHERE retriever = %(retriever)s ORDER BY collection;
