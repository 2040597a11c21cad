-- indexed: how many entries of the text index a report has
SELECT indexed FROM reports WHERE collection = %(collection)s AND sha1 = %(document)s;

-- put_report: insert or replace a report
INSERT INTO reports (collection, sha1, title, company, aliases, period, published_at, metadata, passages,
    indexed, tickers)
VALUES (%(collection)s, %(document)s, %(title)s, %(company)s, %(aliases)s, %(period)s, %(published_at)s,
        %(metadata)s, %(passages)s, %(passages)s, %(tickers)s)
ON CONFLICT (collection, sha1) DO UPDATE SET
    title = excluded.title, company = excluded.company, aliases = excluded.aliases, period = excluded.period,
    published_at = excluded.published_at, metadata = excluded.metadata,
    passages = excluded.passages, indexed = excluded.indexed, tickers = excluded.tickers, published = now();

-- drop_other_passages: the passages of a report, except those with the given keys
DELETE FROM report_passages
WHERE collection = %(collection)s AND sha1 = %(document)s AND key NOT IN (SELECT unnest(%(keys)s::text[]));

-- put_passages: insert or update passages; one whose key is stored keeps its vectors
INSERT INTO report_passages (collection, sha1, key, number, page, text, tokens)
SELECT %(collection)s, %(document)s, new.*
FROM unnest(%(keys)s::text[], %(numbers)s::int[], %(pages)s::int[], %(texts)s::text[], %(tokens)s::int[]) AS new
ON CONFLICT (collection, sha1, key) DO UPDATE SET number = excluded.number, page = excluded.page;

-- drop_pages: the pages of a report
DELETE FROM report_pages WHERE collection = %(collection)s AND sha1 = %(document)s;

-- add_pages: the pages of a report
INSERT INTO report_pages (collection, sha1, page, text)
SELECT %(collection)s, %(document)s, page, text FROM unnest(%(pages)s::int[], %(texts)s::text[]) AS page (page, text);

-- next_generation: say that a collection changed
INSERT INTO report_generations (collection, generation) VALUES (%(collection)s, 1)
ON CONFLICT (collection) DO UPDATE SET generation = report_generations.generation + 1;

-- passages: the passages of a report, in order
SELECT page, number, text, tokens FROM report_passages
WHERE collection = %(collection)s AND sha1 = %(document)s
ORDER BY number;

-- set_indexed: record how many entries of the text index a report has
UPDATE reports SET indexed = %(indexed)s WHERE collection = %(collection)s AND sha1 = %(document)s;

-- drop_report: a report itself
DELETE FROM reports WHERE collection = %(collection)s AND sha1 = %(document)s RETURNING passages + 1;

-- drop_passages: the passages of a report
DELETE FROM report_passages WHERE collection = %(collection)s AND sha1 = %(document)s;

-- whole: reports with their pages, as they were ingested
SELECT sha1, title, company, aliases, period, published_at, metadata,
    (
        SELECT jsonb_agg(jsonb_build_object('page', page.page, 'text', page.text) ORDER BY page.page)
        FROM report_pages AS page
        WHERE page.collection = %(collection)s AND page.sha1 = reports.sha1
    )
FROM reports
WHERE collection = %(collection)s AND sha1 = ANY(%(ids)s);
