-- file_cards: files without their contents
SELECT path, language, size, lines, tokens, parsed_by, metadata FROM code_files
WHERE collection = %(collection)s AND path = ANY(%(paths)s);

-- file_contents: the contents of files
SELECT path, content FROM code_files WHERE collection = %(collection)s AND path = ANY(%(paths)s);

-- file_paths: every path of a collection
SELECT path FROM code_files WHERE collection = %(collection)s ORDER BY path;

-- next_files: the page of files after a path
SELECT path, content FROM code_files WHERE collection = %(collection)s AND path > %(after)s
    AND (%(paths)s::text[] IS NULL OR path = ANY(%(paths)s::text[]))
ORDER BY path LIMIT %(limit)s;

-- file_symbols: the symbols of files
SELECT path, name, role, kind, line, end_line, qualifier, times FROM code_symbols
WHERE collection = %(collection)s AND path = ANY(%(paths)s)
ORDER BY path, line, role, name, kind, end_line, qualifier;

-- named_symbols: the first places of each name and role
WITH placed AS (
    SELECT s.*, row_number() OVER (PARTITION BY name, role ORDER BY path, line) AS place
    FROM code_symbols AS s
    WHERE collection = %(collection)s AND name = ANY(%(names)s) AND role = ANY(%(roles)s)
        AND (%(paths)s::text[] IS NULL OR path = ANY(%(paths)s::text[]))
)
SELECT path, name, role, kind, line, end_line, qualifier, times FROM placed
WHERE place <= %(limit)s
ORDER BY path, line, role, name, kind, end_line, qualifier;

-- name_frequencies: the number of files that have each name
SELECT name, count(DISTINCT path) FROM code_symbols
WHERE collection = %(collection)s AND name = ANY(%(names)s)
GROUP BY name;

-- nearest_files: the nearest files, each with its nearest chunk; every chunk is compared. One statement sees one state:
-- a chunk is among those compared, or among the pending ones
WITH scored AS MATERIALIZED (
    SELECT path, key, coalesce(nullif(1 - (embedding <=> %(vector)s::vector), 'NaN'), 0) AS cosine
    FROM code_vectors
    WHERE collection = %(collection)s AND model = %(model)s AND embedding IS NOT NULL
        AND (%(paths)s::text[] IS NULL OR path = ANY(%(paths)s::text[]))
),
best AS (SELECT path, max(cosine) AS cosine FROM scored GROUP BY path ORDER BY max(cosine) DESC, path LIMIT %(limit)s),
found AS (
    SELECT DISTINCT ON (c.path) c.path, c.number, c.line, c.end_line, c.text, c.symbol, best.cosine
    FROM best
    JOIN scored ON scored.path = best.path AND scored.cosine = best.cosine
    JOIN code_chunks AS c ON c.collection = %(collection)s AND c.path = scored.path AND c.key = scored.key
    ORDER BY c.path, c.number
),
lacking AS (
    SELECT
        (SELECT count(*) FROM code_chunks WHERE collection = %(collection)s)
            - (SELECT count(*) FROM code_vectors WHERE collection = %(collection)s AND model = %(model)s) AS pending,
        ARRAY(
            SELECT DISTINCT c.path FROM code_chunks AS c
            WHERE c.collection = %(collection)s AND c.path = ANY(%(beside)s::text[])
                AND NOT EXISTS (
                    SELECT FROM code_vectors AS v
                    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.path = c.path AND v.key = c.key
                )
        ) AS waiting
)
SELECT lacking.pending, lacking.waiting, found.* FROM lacking LEFT JOIN found ON true
ORDER BY found.cosine DESC, found.path;

-- file_counts: files and their tokens
SELECT count(*), coalesce(sum(tokens), 0) FROM code_files WHERE collection = %(collection)s;

-- put_files: insert or replace files; the rows are locked in a fixed order
INSERT INTO code_files AS f
    (collection, path, language, size, lines, tokens, parsed_by, metadata, content)
SELECT %(collection)s, added.*
FROM unnest(
    %(paths)s::text[], %(languages)s::text[], %(sizes)s::integer[], %(lines)s::integer[],
    %(tokens)s::integer[], %(parsers)s::text[], %(metadata)s::jsonb[], %(contents)s::text[]
) AS added (path, language, size, lines, tokens, parsed_by, metadata, content)
ORDER BY added.path COLLATE "C"
ON CONFLICT (collection, path) DO UPDATE SET
    language = excluded.language, size = excluded.size, lines = excluded.lines,
    tokens = excluded.tokens, parsed_by = excluded.parsed_by, metadata = excluded.metadata,
    content = excluded.content;

-- lock_files: lock files before they are dropped, in a fixed order
SELECT path FROM code_files WHERE collection = %(collection)s AND path = ANY(%(paths)s) ORDER BY path FOR UPDATE;

-- drop_files: the rows of files
DELETE FROM code_files WHERE collection = %(collection)s AND path = ANY(%(paths)s);

-- drop_symbols: all symbols of files
DELETE FROM code_symbols WHERE collection = %(collection)s AND path = ANY(%(paths)s);

-- add_symbols: the symbols of files
INSERT INTO code_symbols (collection, path, name, role, kind, line, end_line, qualifier, times)
SELECT %(collection)s, added.*
FROM unnest(
    %(paths)s::text[], %(names)s::text[], %(roles)s::text[], %(kinds)s::text[], %(lines)s::integer[],
    %(end_lines)s::integer[], %(qualifiers)s::text[], %(times)s::integer[]
) AS added;

-- drop_chunks: the chunks of files, except those with the given keys
DELETE FROM code_chunks AS c
WHERE collection = %(collection)s AND path = ANY(%(paths)s)
    AND NOT EXISTS (
        SELECT FROM unnest(%(chunk_paths)s::text[], %(keys)s::text[]) AS kept (path, key)
        WHERE kept.path = c.path AND kept.key = c.key
    );

-- put_chunks: insert or update chunks; a chunk whose key is stored keeps its vector
INSERT INTO code_chunks AS c (collection, path, key, number, line, end_line, symbol, text)
SELECT %(collection)s, added.*
FROM unnest(
    %(chunk_paths)s::text[], %(keys)s::text[], %(numbers)s::integer[], %(lines)s::integer[], %(end_lines)s::integer[],
    %(symbols)s::text[], %(texts)s::text[]
) AS added
ON CONFLICT (collection, path, key) DO UPDATE SET
    number = excluded.number, line = excluded.line, end_line = excluded.end_line, symbol = excluded.symbol,
    text = excluded.text
WHERE (c.number, c.line, c.end_line, c.symbol, c.text)
    IS DISTINCT FROM (excluded.number, excluded.line, excluded.end_line, excluded.symbol, excluded.text);
