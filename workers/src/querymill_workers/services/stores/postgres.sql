-- stored_texts: the hash of what was embedded, for each text that has a vector of a model
SELECT text_id, content_hash FROM text_vectors
WHERE collection = %(collection)s AND model = %(model)s AND text_id = ANY(%(text_ids)s);

-- store_text: the vector of one text; it replaces the vector of an older version of the text
INSERT INTO text_vectors (collection, text_id, model, content_hash, embedding, document)
VALUES (%(collection)s, %(text_id)s, %(model)s, %(content)s, %(embedding)s, %(document)s)
ON CONFLICT (collection, text_id, model) DO UPDATE
SET content_hash = EXCLUDED.content_hash, embedding = EXCLUDED.embedding, created_at = now(),
    document = CASE
        WHEN text_vectors.content_hash <> EXCLUDED.content_hash THEN EXCLUDED.document
        ELSE coalesce(EXCLUDED.document, text_vectors.document)
    END
WHERE text_vectors.content_hash <> EXCLUDED.content_hash OR text_vectors.document <> EXCLUDED.document
    OR text_vectors.document IS NULL AND EXCLUDED.document IS NOT NULL;

-- assign_texts: record which documents texts are parts of; locked in order, so that two writers cannot deadlock
WITH held AS MATERIALIZED (
    SELECT text_id, given.document
    FROM text_vectors
    JOIN unnest(%(text_ids)s::text[], %(documents)s::text[]) AS given (text_id, document) USING (text_id)
    WHERE collection = %(collection)s AND model = %(model)s AND text_vectors.document IS DISTINCT FROM given.document
    ORDER BY text_id
    FOR NO KEY UPDATE OF text_vectors
)
UPDATE text_vectors SET document = held.document
FROM held
WHERE collection = %(collection)s AND model = %(model)s AND text_vectors.text_id = held.text_id;

-- any_text: whether a collection has vectors of texts
SELECT 1 FROM text_vectors WHERE collection = %(collection)s LIMIT 1;

-- forget_texts: drop the vectors of texts by their ids and by those of their documents, and of equal texts
DELETE FROM text_vectors
WHERE collection = %(collection)s
    AND (text_id = ANY(%(text_ids)s) OR document = ANY(%(text_ids)s) OR content_hash = ANY(%(contents)s));

-- clear_texts: drop all vectors of a collection
DELETE FROM text_vectors WHERE collection = %(collection)s;
