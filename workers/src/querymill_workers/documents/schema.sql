-- What filters look up: the metadata of documents, and of messages within sessions.
-- Row-level security checks a row's collection before any operator that might tell of the row. Whether one jsonb contains
-- another might, so behind the wall no index of jsonb is ever used. Equality and order of texts and of numbers may go first.

-- kind: the retriever, or that and what is looked up of its documents (fields, days), or the table of the parts of documents.
-- part: the message within a session, or empty. Whoever writes or drops a document does so with its rows.
CREATE TABLE metadata_values (
    collection text   COLLATE "C" NOT NULL,
    kind       text   COLLATE "C" NOT NULL,
    value      bigint NOT NULL,             -- the hash of a field with its value, or with one element of a list
    document   text   NOT NULL,
    part       text   NOT NULL,
    field      bigint,                      -- the hash of the field's name
    -- What the value sorts by, shortened or rounded: a look-up finds at least what a condition means.
    number     double precision,
    text       text   COLLATE "C",
    PRIMARY KEY (collection, kind, value, document, part)
);
CREATE INDEX metadata_values_number ON metadata_values (collection, kind, field, number, document) WHERE number IS NOT NULL;
CREATE INDEX metadata_values_text ON metadata_values (collection, kind, field, text, document) WHERE text IS NOT NULL;
ALTER TABLE metadata_values ALTER COLUMN text SET STATISTICS 0;

-- metadata_hashes: the fields with their values, as they are looked up. Numbers that are equal have one hash.
CREATE FUNCTION metadata_hashes(metadata jsonb) RETURNS SETOF bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT jsonb_hash_extended(jsonb_build_object(key, single), 0)
    FROM jsonb_each(metadata) AS field (key, found)
    CROSS JOIN LATERAL (
        SELECT found AS single
        UNION ALL
        SELECT element FROM jsonb_array_elements(CASE jsonb_typeof(found) WHEN 'array' THEN found ELSE '[]' END) AS element
    ) AS singles
    WHERE jsonb_typeof(single) NOT IN ('array', 'object');
END;

-- metadata_number: a number as it is looked up. A number outside double precision becomes the nearest one inside.
CREATE FUNCTION metadata_number(value jsonb) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN abs(value::numeric) < 1e-300 THEN 0
    ELSE greatest(least(value::numeric, 1e300), -1e300)::double precision
END;

-- metadata_entries: the values of metadata, as they are looked up
CREATE FUNCTION metadata_entries(metadata jsonb, OUT value bigint, OUT field bigint, OUT number double precision, OUT text text)
RETURNS SETOF record LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT jsonb_hash_extended(jsonb_build_object(key, single), 0), hashtextextended(key COLLATE "C", 0),
        CASE jsonb_typeof(single) WHEN 'number' THEN metadata_number(single) END,
        CASE jsonb_typeof(single) WHEN 'string' THEN left(single #>> '{}', 64) END
    FROM jsonb_each(metadata) AS named (key, found)
    CROSS JOIN LATERAL (
        SELECT found AS single
        UNION ALL
        SELECT element FROM jsonb_array_elements(CASE jsonb_typeof(found) WHEN 'array' THEN found ELSE '[]' END) AS element
    ) AS singles
    WHERE jsonb_typeof(single) NOT IN ('array', 'object');
END;

-- metadata_fields: the names of the fields that are present, as one number. Documents of one collection have few different sets
-- of names: they are found one after the other in the index, and one document of each set tells whether it lacks a field.
CREATE FUNCTION metadata_fields(metadata jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_hash_extended(coalesce(jsonb_agg(key ORDER BY key COLLATE "C"), '[]'), 0)
    FROM jsonb_each(metadata) AS named (key, found) WHERE found <> 'null'
);

-- What is known of each document apart from its texts: what lists tell of it, and what filters see.
CREATE TABLE documents (
    collection  text        COLLATE "C" NOT NULL,
    retriever   text        COLLATE "C" NOT NULL,
    document    text        COLLATE "C" NOT NULL,
    revision    text        NOT NULL,
    title       text,
    size        integer     NOT NULL,
    unit        text        NOT NULL,
    occurred_at timestamptz,
    times       timestamptz[] NOT NULL,  -- what a filter on a time sees
    first_at    timestamptz,             -- the first and the last of them
    last_at     timestamptz,
    reserved    jsonb       NOT NULL,    -- the other fields that the retriever reserves: each hides metadata of its name
    metadata    jsonb       NOT NULL,
    PRIMARY KEY (collection, retriever, document)
);
CREATE INDEX documents_first ON documents (collection, retriever, first_at) WHERE first_at IS NOT NULL;
CREATE INDEX documents_last ON documents (collection, retriever, last_at) WHERE last_at IS NOT NULL;
ALTER TABLE documents
    ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN times SET STATISTICS 0, ALTER COLUMN reserved SET STATISTICS 0,
    ALTER COLUMN metadata SET STATISTICS 0;

-- document_entries: what is looked up of a document: the values of its fields, the set of their names, and its days in UTC,
-- counted from 1970
CREATE FUNCTION document_entries(
    retriever text, times timestamptz[], fields jsonb,
    OUT kind text, OUT value bigint, OUT field bigint, OUT number double precision, OUT text text
)
RETURNS SETOF record LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 8
BEGIN ATOMIC
    SELECT retriever, entry.value, entry.field, entry.number, entry.text FROM metadata_entries(fields) AS entry
    UNION ALL
    SELECT retriever || ' fields', metadata_fields(fields), NULL, NULL, NULL
    UNION ALL
    SELECT DISTINCT retriever || ' days', floor(extract(epoch FROM moment) / 86400)::bigint, NULL::bigint,
        NULL::double precision, NULL
    FROM unnest(times) AS moment;
END;
