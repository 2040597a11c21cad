-- The life of reports: found by their words at once, embedded in jobs of their own, and embedded with another model.

-- A vector of any dimension. A domain, because a worker of the release before refuses to start where a column of the type
-- itself has another dimension than its model.
DO $$
BEGIN
    CREATE DOMAIN any_vector AS vector;
EXCEPTION
    WHEN duplicate_object THEN NULL;
END $$;

-- A passage without a vector waits for one, or was set aside because a provider refused it. No row is written again.
ALTER TABLE report_passages
    ALTER COLUMN embedding TYPE any_vector,
    ALTER COLUMN embedding DROP NOT NULL,
    ADD COLUMN set_aside boolean NOT NULL DEFAULT false;
CREATE INDEX report_passages_waiting ON report_passages (collection, sha1) WHERE embedding IS NULL;

-- model names the model of a report whose passages have all their vectors, else it is empty: workers of the release before
-- read by it, and find no passage without a vector. vectors_of names the model in either case.
-- indexed: how many entries of the text index the report has.
ALTER TABLE reports
    ADD COLUMN pending_model text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN vectors_of text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (CASE WHEN model = '' THEN pending_model ELSE model END) STORED,
    ADD COLUMN indexed integer NOT NULL DEFAULT 0;
CREATE INDEX reports_metadata ON reports USING gin (metadata jsonb_path_ops);

-- The generation at which the last report was dropped, if none came since.
ALTER TABLE report_generations ADD COLUMN empty_since bigint;

-- The model that a collection is searched by. Names of collections and models only.
CREATE TABLE report_models (
    collection text PRIMARY KEY,
    model      text COLLATE "C" NOT NULL
);
INSERT INTO report_models
SELECT DISTINCT ON (collection) collection, model FROM reports
GROUP BY collection, model ORDER BY collection, count(*) DESC, model;

GRANT SELECT, INSERT, UPDATE, DELETE ON reports, report_pages, report_passages, report_generations, report_models
    TO querymill_messages;
