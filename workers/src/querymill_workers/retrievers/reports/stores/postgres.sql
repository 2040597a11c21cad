-- generation: the number that changes whenever a collection's reports do
SELECT generation FROM report_generations WHERE collection = %(collection)s;

-- cards: the searchable reports of a collection
SELECT sha1, title, company, aliases, period, published_at
FROM reports
WHERE collection = %(collection)s AND model = %(model)s
ORDER BY sha1;

-- search_each: for every query the best passages in each document, all documents in one statement
WITH queries AS MATERIALIZED (
    SELECT number, embedding::vector AS embedding
    FROM unnest(%(embeddings)s::text[]) WITH ORDINALITY AS q (embedding, number)
)
SELECT queries.number, found.sha1, found.page, found.number, found.inner_product
FROM queries
CROSS JOIN (
    SELECT sha1, revision FROM reports
    WHERE collection = %(collection)s AND model = %(model)s AND sha1 = ANY(%(documents)s)
) AS report
CROSS JOIN LATERAL (
    SELECT passage.sha1, page, passage.number, -(embedding <#> queries.embedding) AS inner_product
    FROM report_passages AS passage
    WHERE passage.collection = %(collection)s AND passage.sha1 = report.sha1 AND passage.revision = report.revision
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
CROSS JOIN (
    SELECT sha1, revision FROM reports
    WHERE collection = %(collection)s AND model = %(model)s AND sha1 = ANY(%(documents)s)
) AS report
CROSS JOIN LATERAL (
    SELECT best.* FROM (
        SELECT DISTINCT ON (page)
            passage.sha1, page, passage.number, -(embedding <#> queries.embedding) AS inner_product
        FROM report_passages AS passage
        WHERE passage.collection = %(collection)s AND passage.sha1 = report.sha1
            AND passage.revision = report.revision
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
    FROM report_passages AS passage
    JOIN reports USING (collection, sha1, revision)
    WHERE passage.collection = %(collection)s AND model = %(model)s AND passage.sha1 = ANY(%(documents)s)
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
        FROM report_passages AS passage
        JOIN reports USING (collection, sha1, revision)
        WHERE passage.collection = %(collection)s AND model = %(model)s AND passage.sha1 = ANY(%(documents)s)
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

-- chunk_texts: passages of the published revision by document and number
SELECT passage.sha1, passage.number, passage.page, passage.text
FROM report_passages AS passage
JOIN reports USING (collection, sha1, revision)
JOIN unnest(%(documents)s::text[], %(numbers)s::int[]) AS wanted (sha1, number)
    ON passage.sha1 = wanted.sha1 AND passage.number = wanted.number
WHERE passage.collection = %(collection)s;

-- cards_of: some reports of a collection
SELECT sha1, title, company, aliases, period, published_at
FROM reports
WHERE collection = %(collection)s AND sha1 = ANY(%(documents)s);

-- revision: which revision of a report is searchable
SELECT revision FROM reports WHERE collection = %(collection)s AND sha1 = %(document)s;

-- drafted: which passages of a revision are stored
SELECT number FROM report_passages
WHERE collection = %(collection)s AND sha1 = %(document)s AND revision = %(revision)s;

-- draft: store a passage; a second time changes nothing
INSERT INTO report_passages (collection, sha1, revision, number, page, text, tokens, embedding)
VALUES (%(collection)s, %(document)s, %(revision)s, %(number)s, %(page)s, %(text)s, %(tokens)s, %(embedding)s::vector)
ON CONFLICT DO NOTHING;

-- lock_report: let one version of a report be published at a time
SELECT pg_advisory_xact_lock(hashtextextended(%(collection)s || '/' || %(document)s, 0));

-- count_drafted: how many passages of a revision are stored
SELECT count(*) FROM report_passages
WHERE collection = %(collection)s AND sha1 = %(document)s AND revision = %(revision)s;

-- publish: point a report at its new revision
INSERT INTO reports (collection, sha1, title, company, aliases, period, published_at, metadata, revision, model, passages)
VALUES (%(collection)s, %(document)s, %(title)s, %(company)s, %(aliases)s, %(period)s, %(published_at)s,
        %(metadata)s, %(revision)s, %(model)s, %(passages)s)
ON CONFLICT (collection, sha1) DO UPDATE SET
    title = excluded.title, company = excluded.company, aliases = excluded.aliases, period = excluded.period,
    published_at = excluded.published_at, metadata = excluded.metadata, revision = excluded.revision,
    model = excluded.model, passages = excluded.passages, published = now();

-- drop_pages: the pages of a report, before new ones are written
DELETE FROM report_pages WHERE collection = %(collection)s AND sha1 = %(document)s;

-- add_page: one page of a report
INSERT INTO report_pages (collection, sha1, page, text)
VALUES (%(collection)s, %(document)s, %(page)s, %(text)s);

-- drop_other_revisions: what the published revision replaces
DELETE FROM report_passages
WHERE collection = %(collection)s AND sha1 = %(document)s AND revision <> %(revision)s;

-- next_generation: say that a collection changed
INSERT INTO report_generations (collection, generation) VALUES (%(collection)s, 1)
ON CONFLICT (collection) DO UPDATE SET generation = report_generations.generation + 1;

-- collections: every collection that holds a report
SELECT collection FROM report_generations ORDER BY collection;
