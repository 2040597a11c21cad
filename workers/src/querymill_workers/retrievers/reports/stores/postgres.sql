-- generation: the number that changes whenever a collection's reports do
SELECT generation FROM report_generations WHERE collection = %(collection)s;

-- cards: the reports of a collection
SELECT sha1, title, company, aliases || tickers, period, published_at
FROM reports
WHERE collection = %(collection)s
ORDER BY sha1;

-- search_each: for every query the best passages in each document, all documents in one statement
WITH queries AS MATERIALIZED (
    SELECT number, embedding::vector AS embedding
    FROM unnest(%(embeddings)s::text[]) WITH ORDINALITY AS q (embedding, number)
)
SELECT queries.number, found.sha1, found.page, found.number, found.inner_product
FROM queries
CROSS JOIN unnest(%(documents)s::text[]) AS report (sha1)
CROSS JOIN LATERAL (
    SELECT passage.sha1, page, passage.number, -(embedding <#> queries.embedding) AS inner_product
    FROM report_vectors AS vector
    JOIN report_passages AS passage USING (collection, sha1, key)
    WHERE vector.collection = %(collection)s AND model = %(model)s AND vector.sha1 = report.sha1
        AND embedding IS NOT NULL
    ORDER BY embedding <#> queries.embedding, passage.number
    LIMIT %(depth)s
) AS found;

-- search_each_pages: the same, where only the best passage of a page counts
WITH queries AS MATERIALIZED (
    SELECT number, embedding::vector AS embedding
    FROM unnest(%(embeddings)s::text[]) WITH ORDINALITY AS q (embedding, number)
)
SELECT queries.number, found.sha1, found.page, found.number, found.inner_product
FROM queries
CROSS JOIN unnest(%(documents)s::text[]) AS report (sha1)
CROSS JOIN LATERAL (
    SELECT best.* FROM (
        SELECT DISTINCT ON (page)
            passage.sha1, page, passage.number, -(embedding <#> queries.embedding) AS inner_product
        FROM report_vectors AS vector
        JOIN report_passages AS passage USING (collection, sha1, key)
        WHERE vector.collection = %(collection)s AND model = %(model)s AND vector.sha1 = report.sha1
            AND embedding IS NOT NULL
        ORDER BY page, embedding <#> queries.embedding, passage.number
    ) AS best
    ORDER BY inner_product DESC, number
    LIMIT %(depth)s
) AS found;

-- search_all: for every query the best passages over all the documents at once
WITH queries AS MATERIALIZED (
    SELECT number, embedding::vector AS embedding
    FROM unnest(%(embeddings)s::text[]) WITH ORDINALITY AS q (embedding, number)
)
SELECT queries.number, found.sha1, found.page, found.number, found.inner_product
FROM queries
CROSS JOIN LATERAL (
    SELECT passage.sha1, page, passage.number, -(embedding <#> queries.embedding) AS inner_product
    FROM report_vectors AS vector
    JOIN report_passages AS passage USING (collection, sha1, key)
    WHERE vector.collection = %(collection)s AND model = %(model)s AND vector.sha1 = ANY(%(documents)s)
        AND passage.sha1 = ANY(%(documents)s) AND embedding IS NOT NULL
    ORDER BY embedding <#> queries.embedding, passage.sha1, passage.number
    LIMIT %(depth)s
) AS found;

-- search_all_pages: the same, where only the best passage of a page counts
WITH queries AS MATERIALIZED (
    SELECT number, embedding::vector AS embedding
    FROM unnest(%(embeddings)s::text[]) WITH ORDINALITY AS q (embedding, number)
)
SELECT queries.number, found.sha1, found.page, found.number, found.inner_product
FROM queries
CROSS JOIN LATERAL (
    SELECT best.* FROM (
        SELECT DISTINCT ON (passage.sha1, page)
            passage.sha1, page, passage.number, -(embedding <#> queries.embedding) AS inner_product
        FROM report_vectors AS vector
        JOIN report_passages AS passage USING (collection, sha1, key)
        WHERE vector.collection = %(collection)s AND model = %(model)s AND vector.sha1 = ANY(%(documents)s)
            AND passage.sha1 = ANY(%(documents)s) AND embedding IS NOT NULL
        ORDER BY passage.sha1, page, embedding <#> queries.embedding, passage.number
    ) AS best
    ORDER BY inner_product DESC, sha1, number
    LIMIT %(depth)s
) AS found;

-- page_texts: pages by document and number
SELECT page.sha1, page.page, page.page, page.text
FROM report_pages AS page
JOIN unnest(%(documents)s::text[], %(numbers)s::int[]) AS wanted (sha1, number)
    ON page.sha1 = wanted.sha1 AND page.page = wanted.number
WHERE page.collection = %(collection)s;

-- chunk_texts: passages by document and number
SELECT passage.sha1, passage.number, passage.page, passage.text
FROM report_passages AS passage
JOIN unnest(%(documents)s::text[], %(numbers)s::int[]) AS wanted (sha1, number)
    ON passage.sha1 = wanted.sha1 AND passage.number = wanted.number
WHERE passage.collection = %(collection)s;

-- cards_of: some reports of a collection
SELECT sha1, title, company, aliases, period, published_at, metadata
FROM reports
WHERE collection = %(collection)s AND sha1 = ANY(%(documents)s);

-- waiting: the reports that have passages without a vector: how many wait for it, and how many were refused
SELECT sha1, passages - coalesce(vectors.total, 0), coalesce(refused.total, 0)
FROM reports
LEFT JOIN (
    SELECT sha1, count(*) AS total FROM report_vectors
    WHERE collection = %(collection)s AND model = %(model)s AND sha1 = ANY(%(documents)s)
    GROUP BY sha1
) AS vectors USING (sha1)
LEFT JOIN (
    SELECT sha1, count(*) AS total FROM report_vectors
    WHERE collection = %(collection)s AND model = %(model)s AND sha1 = ANY(%(documents)s) AND embedding IS NULL
    GROUP BY sha1
) AS refused USING (sha1)
WHERE collection = %(collection)s AND sha1 = ANY(%(documents)s)
    AND (passages > coalesce(vectors.total, 0) OR refused.total > 0)
ORDER BY sha1;

-- unembedded: those of the named passages that have no vector
SELECT passage.sha1, passage.number, passage.page
FROM unnest(%(documents)s::text[], %(numbers)s::int[]) AS wanted (sha1, number)
JOIN report_passages AS passage ON passage.collection = %(collection)s AND passage.sha1 = wanted.sha1
    AND passage.number = wanted.number
LEFT JOIN report_vectors AS vector ON vector.collection = %(collection)s AND vector.model = %(model)s
    AND vector.sha1 = passage.sha1 AND vector.key = passage.key
WHERE vector.embedding IS NULL;

-- measured: the pages of the named passages, and their inner product with each query if they have a vector
WITH queries AS MATERIALIZED (
    SELECT number, embedding::vector AS embedding
    FROM unnest(%(embeddings)s::text[]) WITH ORDINALITY AS q (embedding, number)
)
SELECT passage.sha1, passage.number, passage.page, queries.number, -(vector.embedding <#> queries.embedding)
FROM unnest(%(documents)s::text[], %(numbers)s::int[]) AS wanted (sha1, number)
JOIN report_passages AS passage ON passage.collection = %(collection)s AND passage.sha1 = wanted.sha1
    AND passage.number = wanted.number
LEFT JOIN report_vectors AS vector ON vector.collection = %(collection)s AND vector.model = %(model)s
    AND vector.sha1 = passage.sha1 AND vector.key = passage.key
LEFT JOIN queries ON true;
