-- drop_passages: the passages of documents, except those that stay as they are
DELETE FROM module_passages AS p
WHERE collection = %(collection)s AND document = ANY(%(documents)s)
    AND NOT EXISTS (
        SELECT FROM unnest(%(owners)s::text[], %(keys)s::text[]) AS kept (document, key)
        WHERE kept.document = p.document AND kept.key = p.key
    );

-- put_passages: add passages; those that are stored keep their vectors
INSERT INTO module_passages (collection, document, key, text)
SELECT %(collection)s, added.*
FROM unnest(%(owners)s::text[], %(keys)s::text[], %(texts)s::text[]) AS added (document, key, text)
ORDER BY added.document COLLATE "C", added.key COLLATE "C"
ON CONFLICT DO NOTHING;

-- nearest_descriptions: the documents with the nearest passages, and how many wait; every passage is compared. One
-- statement sees one state. Ties are ordered by the ids as JSON
WITH found AS (
    SELECT document, max(coalesce(nullif(1 - (embedding <=> %(vector)s::vector), 'NaN'), 0)) AS cosine,
        CASE WHEN document ~ '^(-?[0-9]+|".*")$' THEN document ELSE to_json(document)::text END COLLATE "C" AS written
    FROM module_vectors
    WHERE collection = %(collection)s AND model = %(model)s AND embedding IS NOT NULL
        AND (%(documents)s::text[] IS NULL OR document = ANY(%(documents)s::text[]))
    GROUP BY document ORDER BY cosine DESC, written LIMIT %(limit)s
),
lacking AS (
    SELECT
        (SELECT count(*) FROM module_passages WHERE collection = %(collection)s)
        - (SELECT count(*) FROM module_vectors WHERE collection = %(collection)s AND model = %(model)s) AS pending
)
SELECT lacking.pending, found.document, found.cosine FROM lacking LEFT JOIN found ON true
ORDER BY found.cosine DESC, found.written;
