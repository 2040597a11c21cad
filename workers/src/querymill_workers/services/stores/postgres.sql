-- stored_texts: the hash of what was embedded, for each text that has a vector of a model
SELECT text_id, content_hash FROM text_vectors
WHERE collection = %(collection)s AND model = %(model)s AND text_id = ANY(%(text_ids)s);

-- store_text: the vector of one text; it replaces the vector of an older version of the text
INSERT INTO text_vectors (collection, text_id, model, content_hash, embedding)
VALUES (%(collection)s, %(text_id)s, %(model)s, %(content)s, %(embedding)s)
ON CONFLICT (collection, text_id, model) DO UPDATE
SET content_hash = EXCLUDED.content_hash, embedding = EXCLUDED.embedding, created_at = now()
WHERE text_vectors.content_hash <> EXCLUDED.content_hash;
