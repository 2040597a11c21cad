-- put_documents: add or replace documents, in order, so that transactions cannot deadlock
INSERT INTO module_documents (collection, document, description, names, body)
SELECT %(collection)s, new.document, new.description, ARRAY(SELECT jsonb_array_elements_text(new.names)), new.body
FROM unnest(%(documents)s::text[], %(descriptions)s::text[], %(names)s::jsonb[], %(bodies)s::text[])
    AS new (document, description, names, body)
ORDER BY new.document COLLATE "C"
ON CONFLICT (collection, document) DO UPDATE SET
    description = excluded.description, names = excluded.names, body = excluded.body;

-- drop_postings: the postings of documents, except those that stay as they are
DELETE FROM module_postings AS p
WHERE collection = %(collection)s AND document = ANY(%(documents)s)
    AND NOT EXISTS (
        SELECT FROM unnest(%(posted)s::text[], %(reversed)s::text[]) AS kept (document, reversed)
        WHERE kept.document = p.document AND kept.reversed = p.reversed
    );

-- put_postings: post documents under reversed names. A module that the collection has keeps the name that it has there
INSERT INTO module_postings (collection, reversed, document, name)
SELECT %(collection)s, new.reversed, new.document, coalesce(known.name, new.name)
FROM unnest(%(posted)s::text[], %(reversed)s::text[], %(own)s::text[]) AS new (document, reversed, name)
LEFT JOIN LATERAL (
    SELECT name FROM module_postings AS p
    WHERE p.collection = %(collection)s AND p.reversed = new.reversed ORDER BY p.document LIMIT 1
) AS known ON true
ORDER BY new.reversed COLLATE "C", new.document COLLATE "C"
ON CONFLICT DO NOTHING;

-- count_changes: say how many documents were written or dropped
WITH begun AS (INSERT INTO module_vocabularies (collection) VALUES (%(collection)s) ON CONFLICT DO NOTHING)
INSERT INTO module_changes (collection, documents) VALUES (%(collection)s, %(changes)s);

-- drop_document: drop a document
DELETE FROM module_documents WHERE collection = %(collection)s AND document = %(document)s RETURNING 1;

-- vocabulary: the state of a vocabulary, with its names and its lexicon if it is not in the state that is known. Each name
-- is found after the one before
WITH RECURSIVE state AS MATERIALIZED (
    SELECT version, learned_changes, lexicon,
        changes + coalesce((
            SELECT sum(documents)::bigint FROM module_changes WHERE collection = %(collection)s
        ), 0) AS changes
    FROM module_vocabularies WHERE collection = %(collection)s
), names AS (
    (SELECT reversed, name FROM module_postings WHERE collection = %(collection)s ORDER BY reversed LIMIT 1)
    UNION ALL
    SELECT following.* FROM names CROSS JOIN LATERAL (
        SELECT p.reversed, p.name FROM module_postings AS p
        WHERE p.collection = %(collection)s AND p.reversed > names.reversed ORDER BY p.reversed LIMIT 1
    ) AS following
)
SELECT version, changes, learned_changes,
    CASE WHEN (version, changes) <> (%(version)s, %(changes)s) THEN ARRAY(SELECT name FROM names) END,
    CASE WHEN (version, changes) <> (%(version)s, %(changes)s) THEN lexicon END
FROM state;

-- publish_lexicon: put a lexicon in the place of another, and add the changes up that were counted apart
WITH counted AS (DELETE FROM module_changes WHERE collection = %(collection)s RETURNING documents)
UPDATE module_vocabularies
SET version = version + 1, lexicon = %(lexicon)s, learned_changes = %(learned)s,
    changes = changes + (SELECT coalesce(sum(documents), 0)::bigint FROM counted)
WHERE collection = %(collection)s AND version = %(replacing)s
RETURNING version;

-- leave: drop the lexicon of a collection without documents. The counters go on, because caches are keyed by them
WITH counted AS (
    DELETE FROM module_changes
    WHERE collection = %(collection)s AND NOT EXISTS (SELECT FROM module_documents WHERE collection = %(collection)s)
    RETURNING documents
), total AS (
    SELECT coalesce(sum(documents), 0)::bigint AS documents FROM counted
)
UPDATE module_vocabularies
SET version = version + 1, lexicon = NULL, changes = changes + total.documents, learned_changes = changes + total.documents
FROM total
WHERE collection = %(collection)s AND NOT EXISTS (SELECT FROM module_documents WHERE collection = %(collection)s);

-- recall_exact: postings of names
SELECT reversed, array_agg(document) FROM module_postings
WHERE collection = %(collection)s AND reversed = ANY(%(names)s)
GROUP BY reversed;

-- recall_suffix: postings of names that lie in one of several ranges
SELECT reversed, array_agg(document)
FROM unnest(%(firsts)s::text[], %(ends)s::text[]) AS range (first, last)
JOIN module_postings ON collection = %(collection)s AND reversed >= range.first AND reversed < range.last
GROUP BY reversed;

-- describe: what scoring reads of documents
SELECT document, names, description FROM module_documents
WHERE collection = %(collection)s AND document = ANY(%(documents)s);

-- describe_next: the same of all documents, some at a time
SELECT document, names, description FROM module_documents
WHERE collection = %(collection)s AND document > %(after)s
ORDER BY document
LIMIT %(limit)s;

-- bodies: whole documents
SELECT document, body FROM module_documents WHERE collection = %(collection)s AND document = ANY(%(documents)s);
