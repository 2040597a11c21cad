-- Reports, their pages, and their passages with vectors.
CREATE TABLE reports (
    collection   text        COLLATE "C" NOT NULL,
    sha1         text        COLLATE "C" NOT NULL,
    title        text        NOT NULL,
    company      text,                               -- null: the report is of no company
    aliases      text[]      NOT NULL,
    tickers      text[]      NOT NULL DEFAULT '{}',  -- that the cover gives: other names of the company
    period       text,
    published_at date,
    metadata     jsonb       NOT NULL,
    passages     integer     NOT NULL,
    indexed      integer     NOT NULL DEFAULT 0,     -- entries of the text index
    published    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, sha1)
);
ALTER TABLE reports
    ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN company SET STATISTICS 0, ALTER COLUMN aliases SET STATISTICS 0,
    ALTER COLUMN tickers SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

CREATE TABLE report_pages (
    collection text    COLLATE "C" NOT NULL,
    sha1       text    COLLATE "C" NOT NULL,
    page       integer NOT NULL,
    text       text    NOT NULL,
    PRIMARY KEY (collection, sha1, page)
);
ALTER TABLE report_pages ALTER COLUMN text SET STATISTICS 0;

-- key: the hash of the text, so that an unchanged passage keeps its vector wherever it moves in its report.
CREATE TABLE report_passages (
    collection text    COLLATE "C" NOT NULL,
    sha1       text    COLLATE "C" NOT NULL,
    key        text    COLLATE "C" NOT NULL,
    number     integer NOT NULL,
    page       integer NOT NULL,
    text       text    NOT NULL,
    tokens     integer NOT NULL,
    PRIMARY KEY (collection, sha1, key)
);
-- The number first: in the order of reports, a search over all passages would merge by report and compare every key.
CREATE INDEX report_passages_number ON report_passages (collection, number, sha1);
ALTER TABLE report_passages ALTER COLUMN text SET STATISTICS 0;

-- One row for each model: the vectors of another model are stored beside the ones that searches compare.
CREATE TABLE report_vectors (
    collection text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    sha1       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    refused    text,        -- why
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, model, sha1, key),
    FOREIGN KEY (collection, sha1, key) REFERENCES report_passages (collection, sha1, key) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE report_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL, ALTER COLUMN refused SET STATISTICS 0;
CREATE INDEX report_vectors_passage ON report_vectors (collection, sha1, key);
CREATE INDEX report_vectors_refused ON report_vectors (collection, model, sha1) WHERE embedding IS NULL;

-- generation: changes whenever the collection's reports do; caches are keyed by it.
CREATE TABLE report_generations (
    collection text   PRIMARY KEY,
    generation bigint NOT NULL
);
