-- pending_passages: passages that wait for a vector of the model, in the order of documents and keys, behind one
SELECT p.{document}, p.key, {texts} FROM {passages} AS p
WHERE p.collection = %(collection)s
    AND (%(documents)s::text[] IS NULL OR p.{document} = ANY(%(documents)s::text[]))
    AND (%(parts)s = 1 OR (hashtext(p.{document}) & 2147483647) %% %(parts)s = %(part)s)
    AND (p.{document}, p.key) > (%(after)s, %(after_key)s)
    AND NOT EXISTS (
        SELECT FROM {vectors} AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.{document} = p.{document} AND v.key = p.key
    )
ORDER BY p.{document}, p.key LIMIT %(limit)s;

-- still_pending: those of some passages that are stored and still wait for a vector of the model
SELECT p.{document}, p.key FROM {passages} AS p
JOIN unnest(%(documents)s::text[], %(keys)s::text[]) AS asked (document, key)
    ON asked.document = p.{document} AND asked.key = p.key
WHERE p.collection = %(collection)s
    AND NOT EXISTS (
        SELECT FROM {vectors} AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.{document} = p.{document} AND v.key = p.key
    );

-- passage_counts: passages, those that wait for a vector of the model, and those that its provider refused
SELECT passages.total, greatest(passages.total - vectors.total, 0), vectors.refused
FROM (
    SELECT count(*) AS total FROM {passages}
    WHERE collection = %(collection)s AND (%(documents)s::text[] IS NULL OR {document} = ANY(%(documents)s::text[]))
        AND (%(parts)s = 1 OR (hashtext({document}) & 2147483647) %% %(parts)s = %(part)s)
) AS passages
CROSS JOIN (
    SELECT count(*) AS total, count(*) FILTER (WHERE embedding IS NULL) AS refused FROM {vectors}
    WHERE collection = %(collection)s AND model = %(model)s
        AND (%(documents)s::text[] IS NULL OR {document} = ANY(%(documents)s::text[]))
        AND (%(parts)s = 1 OR (hashtext({document}) & 2147483647) %% %(parts)s = %(part)s)
) AS vectors;

-- lacking_documents: documents that lack a vector of the model, each with the number of passages that wait
SELECT p.{document}, count(*) FROM {passages} AS p
WHERE p.collection = %(collection)s
    AND (%(documents)s::text[] IS NULL OR p.{document} = ANY(%(documents)s::text[]))
    AND NOT EXISTS (
        SELECT FROM {vectors} AS v
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.{document} = p.{document} AND v.key = p.key
    )
    AND (NOT %(unawaited)s OR NOT EXISTS (
        SELECT FROM awaited_embeddings AS awaited
        WHERE awaited.collection = %(collection)s AND awaited.kind = %(kind)s AND awaited.document = p.{document}
    ))
GROUP BY p.{document} ORDER BY p.{document};

-- fill_vectors: the vectors of passages that are still stored, or why their text was refused; in a fixed order, so that two
-- writers cannot deadlock
INSERT INTO {vectors} (collection, model, {document}, key, embedding, refused)
SELECT %(collection)s, %(model)s, held.{document}, held.key, held.embedding::vector, held.refused
FROM (
    SELECT p.{document}, p.key, done.embedding, done.refused
    FROM {passages} AS p
    JOIN unnest(%(documents)s::text[], %(keys)s::text[], %(embeddings)s::text[], %(reasons)s::text[])
        AS done (document, key, embedding, refused) ON done.document = p.{document} AND done.key = p.key
    WHERE p.collection = %(collection)s
    ORDER BY p.{document}, p.key
    FOR KEY SHARE OF p
) AS held
ON CONFLICT (collection, model, {document}, key)
    DO UPDATE SET embedding = excluded.embedding, refused = excluded.refused, at = now();

-- retry_refused: what a provider refused waits for a vector again
DELETE FROM {vectors}
WHERE collection = %(collection)s AND embedding IS NULL
    AND (%(model)s::text IS NULL OR model = %(model)s)
    AND (%(documents)s::text[] IS NULL OR {document} = ANY(%(documents)s::text[]))
    AND (%(parts)s = 1 OR (hashtext({document}) & 2147483647) %% %(parts)s = %(part)s);

-- active_model: the model that searches compare
SELECT model FROM active_models WHERE collection = %(collection)s AND kind = %(kind)s;

-- first_model: have a collection without a model compare this one
INSERT INTO active_models (collection, kind, model) VALUES (%(collection)s, %(kind)s, %(model)s) ON CONFLICT DO NOTHING;

-- switch_model: have searches compare a model of which no passage waits for a vector
INSERT INTO active_models (collection, kind, model)
SELECT %(collection)s, %(kind)s, %(model)s
WHERE NOT EXISTS (
    SELECT FROM {passages} AS p
    WHERE p.collection = %(collection)s
        AND NOT EXISTS (
            SELECT FROM {vectors} AS v
            WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.{document} = p.{document}
                AND v.key = p.key
        )
)
ON CONFLICT (collection, kind) DO UPDATE SET model = excluded.model
RETURNING model;

-- drop_model: forget the model of a collection
DELETE FROM active_models WHERE collection = %(collection)s AND kind = %(kind)s;

-- drop_worth: forget what models are worth on a collection, all of them or all but one
DELETE FROM vectors_worth
WHERE collection = %(collection)s AND kind = %(kind)s AND (%(model)s::text IS NULL OR model <> %(model)s);

-- sample_vectors: passages with a vector of the model, the same ones each time, in the order of a hash
SELECT p.{document}, p.key, v.embedding::real[], {texts}
FROM (
    SELECT {document}, key FROM {vectors}
    WHERE collection = %(collection)s AND model = %(model)s AND embedding IS NOT NULL
    ORDER BY hashtextextended({document} || ' ' || key, 0), {document}, key LIMIT %(limit)s
) AS drawn
JOIN {vectors} AS v ON v.collection = %(collection)s AND v.model = %(model)s
    AND v.{document} = drawn.{document} AND v.key = drawn.key
JOIN {passages} AS p ON p.collection = %(collection)s AND p.{document} = drawn.{document} AND p.key = drawn.key
ORDER BY hashtextextended(drawn.{document} || ' ' || drawn.key, 0), drawn.{document}, drawn.key;

-- still_stored: those of some passages that are stored
SELECT p.{document}, p.key FROM {passages} AS p
JOIN unnest(%(documents)s::text[], %(keys)s::text[]) AS asked (document, key)
    ON asked.document = p.{document} AND asked.key = p.key
WHERE p.collection = %(collection)s;

-- keep_worth: what the vectors of a model are worth on a collection
INSERT INTO vectors_worth (collection, kind, model, worth) VALUES (%(collection)s, %(kind)s, %(model)s, %(worth)s)
ON CONFLICT (collection, kind, model) DO UPDATE SET worth = excluded.worth, at = now();

-- worth: what was kept
SELECT worth FROM vectors_worth WHERE collection = %(collection)s AND kind = %(kind)s AND model = %(model)s;

-- drop_other_vectors: some vectors of models that no search compares any more
DELETE FROM {vectors}
WHERE (collection, model, {document}, key) IN (
    SELECT collection, model, {document}, key FROM {vectors}
    WHERE collection = %(collection)s AND model <> %(model)s LIMIT %(limit)s
)
RETURNING 1;

-- await_embedding: note and return the job that waits for each document that lacks a vector of one of the models
INSERT INTO awaited_embeddings AS awaited (collection, kind, document, token)
SELECT %(collection)s, %(kind)s, given.document, given.token
FROM unnest(%(documents)s::text[], %(tokens)s::text[]) AS given (document, token)
WHERE EXISTS (
    SELECT FROM {passages} AS p CROSS JOIN unnest(%(models)s::text[]) AS needed (by)
    WHERE p.collection = %(collection)s AND p.{document} = given.document AND NOT EXISTS (
        SELECT FROM {vectors} AS v
        WHERE v.collection = %(collection)s AND v.model = needed.by AND v.{document} = p.{document} AND v.key = p.key
    )
)
ORDER BY given.document  -- locked in this order, so that two writers cannot deadlock
ON CONFLICT (collection, kind, document) DO UPDATE SET token = awaited.token
RETURNING document, token;

-- is_awaited: whether a job waits for any document
SELECT 1 FROM awaited_embeddings WHERE collection = %(collection)s AND kind = %(kind)s LIMIT 1;

-- begin_embedding: no job waits for these documents any more
DELETE FROM awaited_embeddings
WHERE collection = %(collection)s AND kind = %(kind)s AND (collection, kind, document) IN (
    SELECT collection, kind, document FROM awaited_embeddings
    WHERE collection = %(collection)s AND kind = %(kind)s
        AND (%(documents)s::text[] IS NULL OR document = ANY(%(documents)s::text[]))
    ORDER BY document FOR UPDATE
);

-- refused_passages: passages that a provider refused, in the order of documents and keys, behind one
SELECT {document}, key, model, refused, at FROM {vectors}
WHERE collection = %(collection)s AND embedding IS NULL
    AND ({document}, key, model) > (%(after)s, %(after_key)s, %(after_model)s)
ORDER BY {document}, key, model LIMIT %(limit)s;

-- count_refused: how many passages providers refused
SELECT count(*) FROM {vectors} WHERE collection = %(collection)s AND embedding IS NULL;
