-- Reports, their pages, and their passages with vectors.
CREATE TABLE reports (
    collection   text        NOT NULL,
    sha1         text        NOT NULL,
    title        text        NOT NULL,
    company      text,                               -- null: the report is of no company
    aliases      text[]      NOT NULL,
    tickers      text[]      NOT NULL DEFAULT '{}',  -- that the cover gives: other names of the company
    period       text,
    published_at date,
    metadata     jsonb       NOT NULL,
    revision     text        NOT NULL,               -- the passages that are searchable now
    -- The model of the passages' vectors: in model once no passage lacks its vector, in pending_model until then.
    model         text       NOT NULL,
    pending_model text       COLLATE "C" NOT NULL DEFAULT '',
    vectors_of    text       COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (CASE WHEN model = '' THEN pending_model ELSE model END) STORED,
    passages     integer     NOT NULL,
    indexed      integer     NOT NULL DEFAULT 0,     -- entries of the text index
    published    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, sha1)
);
CREATE INDEX reports_company ON reports (collection, company COLLATE "C");
CREATE INDEX reports_period ON reports (collection, period COLLATE "C");
CREATE INDEX reports_title ON reports (collection, title COLLATE "C");
CREATE INDEX reports_published_at ON reports (collection, published_at);
ALTER TABLE reports
    ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN company SET STATISTICS 0, ALTER COLUMN aliases SET STATISTICS 0,
    ALTER COLUMN tickers SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;
CALL pg_temp.look_up('reports', 'sha1');

CREATE TABLE report_pages (
    collection text    NOT NULL,
    sha1       text    NOT NULL,
    page       integer NOT NULL,
    text       text    NOT NULL,
    PRIMARY KEY (collection, sha1, page)
);
ALTER TABLE report_pages ALTER COLUMN text SET STATISTICS 0;

-- Several revisions of a report may be drafted beside the published one.
CREATE TABLE report_passages (
    collection text    NOT NULL,
    sha1       text    NOT NULL,
    revision   text    NOT NULL,
    number     integer NOT NULL,
    page       integer NOT NULL,
    text       text    NOT NULL,
    tokens     integer NOT NULL,
    embedding  any_vector,                      -- null: the passage waits for its vector, or is set aside
    set_aside  boolean NOT NULL DEFAULT false,  -- the model's provider refused it
    PRIMARY KEY (collection, sha1, revision, number)
);
CREATE INDEX report_passages_waiting ON report_passages (collection, sha1) WHERE embedding IS NULL;
ALTER TABLE report_passages ALTER COLUMN text SET STATISTICS 0;

-- generation: changes whenever the collection's reports do; caches are keyed by it.
CREATE TABLE report_generations (
    collection  text   PRIMARY KEY,
    generation  bigint NOT NULL,
    empty_since bigint          -- the generation at which the last report was dropped, if none came since
);

-- The model that searches of a collection compare.
CREATE TABLE report_models (
    collection text PRIMARY KEY,
    model      text COLLATE "C" NOT NULL
);
