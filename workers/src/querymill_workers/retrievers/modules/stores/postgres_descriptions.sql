-- drop_passages: the passages of documents, except those that stay as they are
DELETE FROM module_passages AS p
WHERE collection = %(collection)s AND document = ANY(%(documents)s)
    AND NOT EXISTS (
        SELECT FROM unnest(%(owners)s::text[], %(numbers)s::integer[], %(texts)s::text[]) AS kept (document, number, text)
        WHERE kept.document = p.document AND kept.number = p.number AND kept.text = p.text
    );

-- put_passages: add passages; those that are there keep their vectors
INSERT INTO module_passages (collection, document, number, text)
SELECT %(collection)s, added.*
FROM unnest(%(owners)s::text[], %(numbers)s::integer[], %(texts)s::text[]) AS added (document, number, text)
ORDER BY added.document COLLATE "C", added.number
ON CONFLICT DO NOTHING;

-- note_described: the descriptions of these documents are stored
UPDATE module_register SET described = record
WHERE collection = %(collection)s AND document = ANY(%(documents)s) AND described IS DISTINCT FROM record;

-- undescribed: documents whose descriptions are not stored
SELECT document FROM module_register
WHERE collection = %(collection)s AND described IS DISTINCT FROM record
ORDER BY document LIMIT %(limit)s;

-- pending_passages: passages that wait for a vector of the model
SELECT document, number, text FROM module_passages AS p
WHERE collection = %(collection)s
    AND NOT EXISTS (
        SELECT FROM module_vectors AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.document = p.document AND v.number = p.number
    )
ORDER BY document, number LIMIT %(limit)s;

-- still_pending: those of some passages that are stored unchanged and still wait for a vector of the model
SELECT p.document, p.number FROM module_passages AS p
JOIN unnest(%(owners)s::text[], %(numbers)s::integer[], %(texts)s::text[]) AS asked (document, number, text)
    ON asked.document = p.document AND asked.number = p.number AND asked.text = p.text
WHERE p.collection = %(collection)s
    AND NOT EXISTS (
        SELECT FROM module_vectors AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.document = p.document AND v.number = p.number
    );

-- fill_passages: the vectors of passages that are stored unchanged, null where the text was refused; in a fixed order,
-- so that two writers cannot deadlock
INSERT INTO module_vectors (collection, model, document, number, embedding)
SELECT %(collection)s, %(model)s, held.document, held.number, held.embedding::vector
FROM (
    SELECT p.document, p.number, done.embedding
    FROM module_passages AS p
    JOIN unnest(%(owners)s::text[], %(numbers)s::integer[], %(texts)s::text[], %(embeddings)s::text[])
        AS done (document, number, text, embedding)
        ON done.document = p.document AND done.number = p.number AND done.text = p.text
    WHERE p.collection = %(collection)s
    ORDER BY p.document, p.number
    FOR KEY SHARE OF p
) AS held
ON CONFLICT (collection, model, document, number) DO UPDATE SET embedding = excluded.embedding;

-- drop_refused_passages: what a provider refused is tried again
DELETE FROM module_vectors WHERE collection = %(collection)s AND model = %(model)s AND embedding IS NULL;

-- count_pending_descriptions: passages that wait for a vector of the model, and documents whose descriptions are not stored
SELECT
    (SELECT count(*) FROM module_register WHERE collection = %(collection)s AND described IS DISTINCT FROM record)
    + (SELECT count(*) FROM module_passages WHERE collection = %(collection)s)
    - (SELECT count(*) FROM module_vectors WHERE collection = %(collection)s AND model = %(model)s);

-- nearest_descriptions: the documents with the nearest passages, and how many wait; every passage is compared. One
-- statement sees one state. A description of a record that was replaced without it is not compared
WITH found AS (
    SELECT v.document, max(coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0)) AS cosine
    FROM module_vectors AS v
    LEFT JOIN module_register AS r ON r.collection = v.collection AND r.document = v.document
    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.embedding IS NOT NULL
        AND r.described IS NOT DISTINCT FROM r.record
        AND (%(documents)s::text[] IS NULL OR v.document = ANY(%(documents)s::text[]))
    GROUP BY v.document ORDER BY 2 DESC, 1 LIMIT %(limit)s
),
lacking AS (
    SELECT
        (SELECT count(*) FROM module_register WHERE collection = %(collection)s AND described IS DISTINCT FROM record)
        + (SELECT count(*) FROM module_passages WHERE collection = %(collection)s)
        - (SELECT count(*) FROM module_vectors WHERE collection = %(collection)s AND model = %(model)s) AS pending
)
SELECT lacking.pending, found.document, found.cosine FROM lacking LEFT JOIN found ON true
ORDER BY found.cosine DESC, found.document;

-- drop_other_description_vectors: some vectors of models that no search compares any more
DELETE FROM module_vectors
WHERE (collection, model, document, number) IN (
    SELECT collection, model, document, number FROM module_vectors
    WHERE collection = %(collection)s AND model <> %(model)s LIMIT %(limit)s
)
RETURNING 1;
