-- keep_judgements: what was said of hits of a job; it replaces what was said of them before
INSERT INTO judgements (collection, retriever, job, hit, document, place, asked, relevance, comment)
SELECT %(collection)s, %(retriever)s, %(job)s, hit, document, place, %(asked)s, relevance, comment
FROM unnest(%(hits)s::text[], %(documents)s::text[], %(places)s::text[], %(relevances)s::smallint[], %(comments)s::text[])
    AS given (hit, document, place, relevance, comment)
ORDER BY hit
ON CONFLICT (collection, retriever, job, hit) DO UPDATE
SET document = EXCLUDED.document, place = EXCLUDED.place, asked = EXCLUDED.asked, relevance = EXCLUDED.relevance, comment = EXCLUDED.comment,
    given_at = now();

-- list_judgements: judgements in the order of their keys, after one
SELECT job, hit, document, place, asked, relevance, comment, given_at FROM judgements
WHERE collection = %(collection)s AND retriever = %(retriever)s
    AND (%(job)s::text IS NULL OR (job, hit) > (%(job)s::text COLLATE "C", %(hit)s::text COLLATE "C"))
ORDER BY job COLLATE "C", hit COLLATE "C" LIMIT %(limit)s;

-- count_judgements: how many judgements there are
SELECT count(*) FROM judgements WHERE collection = %(collection)s AND retriever = %(retriever)s;

-- drop_judgements: delete the judgements of documents
DELETE FROM judgements
WHERE collection = %(collection)s AND retriever = %(retriever)s AND document = ANY(%(documents)s);

-- clear_judgements: delete the judgements of a retriever
DELETE FROM judgements WHERE collection = %(collection)s AND retriever = %(retriever)s;
