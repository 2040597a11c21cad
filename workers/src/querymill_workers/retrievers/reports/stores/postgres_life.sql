-- revision: which revision of a report is searchable
SELECT revision FROM reports WHERE collection = %(collection)s AND sha1 = %(document)s;

-- add_searched_model: have a collection searched by a model, unless it is by another
INSERT INTO report_models (collection, model) VALUES (%(collection)s, %(model)s) ON CONFLICT DO NOTHING;

-- searched_model: the model that a collection is searched by
SELECT model FROM report_models WHERE collection = %(collection)s;

-- hold_searched_model: the same, which stays until the transaction ends
SELECT model FROM report_models WHERE collection = %(collection)s FOR SHARE;

-- hold_report: keep workers of the release before from publishing a version of the report
SELECT pg_advisory_xact_lock(hashtextextended(%(collection)s || '/' || %(document)s, 0));

-- indexed: how many entries of the text index a report has
SELECT indexed FROM reports WHERE collection = %(collection)s AND sha1 = %(document)s;

-- add_passages: store passages of a revision; the same text keeps the vector that it has in the revision before
INSERT INTO report_passages (collection, sha1, revision, number, page, text, tokens, embedding)
SELECT %(collection)s, %(document)s, %(revision)s, new.number, new.page, new.text, new.tokens, old.embedding
FROM unnest(%(numbers)s::int[], %(pages)s::int[], %(texts)s::text[], %(tokens)s::int[])
    AS new (number, page, text, tokens)
LEFT JOIN (
    SELECT DISTINCT ON (passage.text) passage.text, embedding
    FROM report_passages AS passage
    JOIN reports USING (collection, sha1)
    WHERE passage.collection = %(collection)s AND passage.sha1 = %(document)s
        AND passage.revision = CASE
            WHEN vectors_of = %(model)s THEN reports.revision
            ELSE split_part(reports.revision, ':', 1) || ':' || %(model)s
        END
        AND embedding IS NOT NULL
    ORDER BY passage.text, passage.number
) AS old ON old.text = new.text
ON CONFLICT DO NOTHING;

-- publish: point a report at its new revision
INSERT INTO reports (collection, sha1, title, company, aliases, period, published_at, metadata, revision, model,
    pending_model, passages, indexed, tickers)
VALUES (%(collection)s, %(document)s, %(title)s, %(company)s, %(aliases)s, %(period)s, %(published_at)s,
        %(metadata)s, %(revision)s, '', %(model)s, %(passages)s, %(passages)s, %(tickers)s)
ON CONFLICT (collection, sha1) DO UPDATE SET
    title = excluded.title, company = excluded.company, aliases = excluded.aliases, period = excluded.period,
    published_at = excluded.published_at, metadata = excluded.metadata, revision = excluded.revision,
    model = excluded.model, pending_model = excluded.pending_model, passages = excluded.passages,
    indexed = excluded.indexed, tickers = excluded.tickers, published = now();

-- mark_embedded: say that every passage of a report has its vector, if so
UPDATE reports SET model = pending_model
WHERE collection = %(collection)s AND sha1 = %(document)s AND model = '' AND NOT EXISTS (
    SELECT FROM report_passages AS passage
    WHERE passage.collection = %(collection)s AND passage.sha1 = %(document)s AND passage.revision = reports.revision
        AND embedding IS NULL
)
RETURNING sha1;

-- drop_pages: the pages of a report
DELETE FROM report_pages WHERE collection = %(collection)s AND sha1 = %(document)s;

-- add_pages: the pages of a report
INSERT INTO report_pages (collection, sha1, page, text)
SELECT %(collection)s, %(document)s, page, text FROM unnest(%(pages)s::int[], %(texts)s::text[]) AS page (page, text);

-- drop_other_revisions: what the published revision replaces
DELETE FROM report_passages
WHERE collection = %(collection)s AND sha1 = %(document)s AND revision <> ALL(%(revisions)s);

-- next_generation: say that a collection changed
INSERT INTO report_generations (collection, generation) VALUES (%(collection)s, 1)
ON CONFLICT (collection) DO UPDATE SET generation = report_generations.generation + 1;

-- pending: passages of reports that wait for a vector of a model
SELECT passage.sha1, passage.revision, passage.number, passage.text
FROM report_passages AS passage
JOIN reports USING (collection, sha1)
WHERE passage.collection = %(collection)s AND passage.sha1 = ANY(%(documents)s)
    AND passage.revision = CASE
        WHEN vectors_of = %(model)s THEN reports.revision
        ELSE split_part(reports.revision, ':', 1) || ':' || %(model)s
    END
    AND embedding IS NULL AND NOT passage.set_aside
ORDER BY passage.sha1, passage.number
LIMIT %(limit)s;

-- count_pending: how many there are
SELECT count(*)
FROM report_passages AS passage
JOIN reports USING (collection, sha1)
WHERE passage.collection = %(collection)s AND passage.sha1 = ANY(%(documents)s)
    AND passage.revision = CASE
        WHEN vectors_of = %(model)s THEN reports.revision
        ELSE split_part(reports.revision, ':', 1) || ':' || %(model)s
    END
    AND embedding IS NULL AND NOT passage.set_aside;

-- fill: store vectors; that of a passage which is no longer stored is discarded
UPDATE report_passages AS passage SET embedding = new.embedding::vector, set_aside = false
FROM unnest(%(revisions)s::text[], %(numbers)s::int[], %(embeddings)s::text[]) AS new (revision, number, embedding)
WHERE passage.collection = %(collection)s AND passage.sha1 = %(document)s AND passage.revision = new.revision
    AND passage.number = new.number;

-- set_aside: no longer wait for the vectors of passages
UPDATE report_passages AS passage SET set_aside = true
FROM unnest(%(revisions)s::text[], %(numbers)s::int[]) AS refused (revision, number)
WHERE passage.collection = %(collection)s AND passage.sha1 = %(document)s AND passage.revision = refused.revision
    AND passage.number = refused.number AND embedding IS NULL;

-- lacking: the reports of a part that lack vectors of a model
SELECT sha1 FROM reports
WHERE collection = %(collection)s AND (hashtext(sha1) & 2147483647) %% %(parts)s = %(part)s
    AND (model <> %(model)s OR EXISTS (
        SELECT FROM report_passages AS passage
        WHERE passage.collection = %(collection)s AND passage.sha1 = reports.sha1
            AND passage.revision = reports.revision AND embedding IS NULL
    ))
ORDER BY sha1;

-- add_model: have the passages of a report embedded with a model, next to the vectors that they have
WITH held AS MATERIALIZED (  -- the report is neither replaced nor dropped meanwhile
    SELECT collection, sha1, revision FROM reports
    WHERE collection = %(collection)s AND sha1 = %(document)s AND vectors_of <> %(model)s
    FOR SHARE
)
INSERT INTO report_passages (collection, sha1, revision, number, page, text, tokens)
SELECT passage.collection, passage.sha1, split_part(passage.revision, ':', 1) || ':' || %(model)s, passage.number,
    passage.page, passage.text, passage.tokens
FROM report_passages AS passage
JOIN held USING (collection, sha1, revision)
ON CONFLICT DO NOTHING;

-- try_again: wait again for the vectors of a model that passages were set aside without
UPDATE report_passages AS passage SET set_aside = false
FROM reports
WHERE reports.collection = %(collection)s AND reports.sha1 = %(document)s
    AND passage.collection = %(collection)s AND passage.sha1 = %(document)s
    AND passage.revision = CASE
        WHEN vectors_of = %(model)s THEN reports.revision
        ELSE split_part(reports.revision, ':', 1) || ':' || %(model)s
    END
    AND passage.set_aside AND embedding IS NULL;

-- hold_model: the model that a collection is searched by, alone until the transaction ends
SELECT model FROM report_models WHERE collection = %(collection)s FOR UPDATE;

-- lacks_model: whether a report that is searched by another model has a passage without a vector of this one
SELECT EXISTS (
    SELECT FROM reports
    JOIN report_passages AS passage USING (collection, sha1, revision)
    WHERE reports.collection = %(collection)s AND vectors_of <> %(model)s AND NOT EXISTS (
        SELECT FROM report_passages AS own
        WHERE own.collection = %(collection)s AND own.sha1 = passage.sha1
            AND own.revision = split_part(passage.revision, ':', 1) || ':' || %(model)s
            AND own.number = passage.number AND (own.embedding IS NOT NULL OR own.set_aside)
    )
);

-- switch_reports: point every report at its revision with vectors of the model
UPDATE reports SET
    revision = split_part(revision, ':', 1) || ':' || %(model)s,
    model = CASE WHEN EXISTS (
        SELECT FROM report_passages AS own
        WHERE own.collection = %(collection)s AND own.sha1 = reports.sha1
            AND own.revision = split_part(reports.revision, ':', 1) || ':' || %(model)s AND own.embedding IS NULL
    ) THEN '' ELSE %(model)s END,
    pending_model = %(model)s
WHERE collection = %(collection)s AND vectors_of <> %(model)s;

-- switch_model: search a collection by a model
UPDATE report_models SET model = %(model)s WHERE collection = %(collection)s;

-- drop_other_models: the passages that no report points at
DELETE FROM report_passages AS passage USING reports
WHERE passage.collection = %(collection)s AND reports.collection = %(collection)s AND reports.sha1 = passage.sha1
    AND reports.vectors_of = %(model)s AND passage.revision <> reports.revision;

-- ids: all reports
SELECT sha1 FROM reports WHERE collection = %(collection)s ORDER BY sha1;

-- passages: the passages of a report, in order
SELECT passage.page, passage.number, passage.text, passage.tokens
FROM report_passages AS passage
JOIN reports USING (collection, sha1, revision)
WHERE passage.collection = %(collection)s AND passage.sha1 = %(document)s
ORDER BY passage.number;

-- set_indexed: record how many entries of the text index a report has
UPDATE reports SET indexed = %(indexed)s WHERE collection = %(collection)s AND sha1 = %(document)s;

-- drop_report: a report itself; its passages are dropped afterwards, with those that were added until then
DELETE FROM reports WHERE collection = %(collection)s AND sha1 = %(document)s RETURNING passages + 1;

-- drop_passages: the passages of a report, in every revision
DELETE FROM report_passages WHERE collection = %(collection)s AND sha1 = %(document)s;

-- drop_models: forget by which model a collection without reports is searched
DELETE FROM report_models
WHERE collection = %(collection)s AND NOT EXISTS (SELECT FROM reports WHERE collection = %(collection)s);

-- listed: reports that pass a filter, with the number of their pages and of passages that wait for their vectors
SELECT sha1, title, published_at, metadata,
    (SELECT count(*) FROM report_pages AS page WHERE page.collection = %(collection)s AND page.sha1 = reports.sha1),
    (
        SELECT count(*) FROM report_passages AS passage
        WHERE passage.collection = %(collection)s AND passage.sha1 = reports.sha1
            AND passage.revision = reports.revision AND embedding IS NULL AND NOT passage.set_aside
    )
FROM reports
WHERE collection = %(collection)s AND {filter}
    AND (%(after)s::text IS NULL OR sha1 COLLATE "C" > %(after)s::text COLLATE "C")
ORDER BY sha1 COLLATE "C"
LIMIT %(limit)s;

-- count: how many reports pass a filter
SELECT count(*) FROM reports WHERE collection = %(collection)s AND {filter};

-- whole: reports with their pages, as they were ingested
SELECT sha1, title, company, aliases, period, published_at, metadata,
    (
        SELECT jsonb_agg(jsonb_build_object('page', page.page, 'text', page.text) ORDER BY page.page)
        FROM report_pages AS page
        WHERE page.collection = %(collection)s AND page.sha1 = reports.sha1
    )
FROM reports
WHERE collection = %(collection)s AND sha1 = ANY(%(ids)s);

-- mark_empty: record that a collection holds no report, if so
UPDATE report_generations SET empty_since = generation
WHERE collection = %(collection)s AND NOT EXISTS (SELECT FROM reports WHERE collection = %(collection)s);
