-- Words in blocks: writes add runs, and a folder moves their postings into blocks later. See words/adr/0001.

CREATE TABLE word_indexes (
    number     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection text    COLLATE "C" NOT NULL,
    space      text    COLLATE "C" NOT NULL,
    version    integer NOT NULL,             -- of the tokeniser
    whole      boolean NOT NULL,             -- it is searched once it is whole
    -- Of what is folded; only folding changes them.
    units      bigint  NOT NULL DEFAULT 0,
    length     bigint  NOT NULL DEFAULT 0,   -- the words of all entries, repetitions included
    postings   bigint  NOT NULL DEFAULT 0,
    UNIQUE (collection, space, version)
) WITH (fillfactor = 50);

-- Numbers runs and full blocks. An entry's number is that of its run times 128, plus its place in the run.
CREATE SEQUENCE word_run_numbers CACHE 1;

CREATE TABLE word_entries (
    word_index integer NOT NULL,
    id     text    COLLATE "C" NOT NULL,
    number bigint  NOT NULL,
    previous bigint,                         -- the number before the last write
    PRIMARY KEY (word_index, id)
) WITH (fillfactor = 90);

-- The entries of one write. Numbers within bytea columns are big-endian.
CREATE TABLE word_runs (
    word_index integer NOT NULL,
    run     bigint  NOT NULL DEFAULT nextval('word_run_numbers'),
    ids     jsonb   NOT NULL,                -- by place; null if the entry is gone
    groups  jsonb   NOT NULL,                -- [[name, first number, last number], …]
    entries bytea   NOT NULL,                -- per entry: number int8, length int4, its terms int4, 1 or -1 int4
    words   bytea   NOT NULL,                -- the terms of the entries in order, a blank after each
    tfs     bytea   NOT NULL,                -- per term int4
    PRIMARY KEY (word_index, run)
);

-- The runs that are not folded yet.
CREATE TABLE word_tail (
    word_index integer   NOT NULL,
    run      bigint      NOT NULL,
    postings integer     NOT NULL,
    drops    boolean     NOT NULL,
    since    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (word_index, run)
);

-- The entries of a group: all numbers from first to last.
CREATE TABLE word_ranges (
    word_index integer NOT NULL,
    grp   text    COLLATE "C" NOT NULL,
    first bigint  NOT NULL,
    last  bigint  NOT NULL,
    PRIMARY KEY (word_index, grp, first)
);

-- Postings that are folded. Block 0 of a term is filled until it is full; then it gets a number.
CREATE TABLE word_blocks (
    word_index integer NOT NULL,
    term     text    COLLATE "C" NOT NULL,
    block    bigint  NOT NULL,
    n        integer NOT NULL,
    first    bigint  NOT NULL,               -- bounds of the numbers in it
    last     bigint  NOT NULL,
    postings bytea   NOT NULL,               -- per entry: number int8, length int4, tf int4
    PRIMARY KEY (word_index, term, block)
) WITH (fillfactor = 80);
ALTER TABLE word_blocks ALTER COLUMN postings SET STORAGE EXTERNAL;
ALTER TABLE word_ranges ALTER COLUMN grp SET STATISTICS 0;
ALTER TABLE word_blocks ALTER COLUMN postings SET STATISTICS 0;
ALTER TABLE word_runs
    ALTER COLUMN ids SET STATISTICS 0, ALTER COLUMN groups SET STATISTICS 0, ALTER COLUMN entries SET STATISTICS 0,
    ALTER COLUMN words SET STATISTICS 0, ALTER COLUMN tfs SET STATISTICS 0;

-- empty_words: empty the tables whose rows name an index by its number, which may be given again
CREATE FUNCTION empty_words() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    TRUNCATE word_entries, word_runs, word_tail, word_ranges, word_blocks;
    RETURN NULL;
END $$;
CREATE TRIGGER words_truncated AFTER TRUNCATE ON word_indexes FOR EACH STATEMENT EXECUTE FUNCTION empty_words();

-- These tables have no column for the collection, so their wall goes through the index.
GRANT USAGE ON SEQUENCE word_run_numbers TO querymill_reader;
CREATE POLICY own_collection ON word_entries TO querymill_reader USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));
CREATE POLICY own_collection ON word_runs TO querymill_reader USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));
CREATE POLICY own_collection ON word_tail TO querymill_reader USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));
CREATE POLICY own_collection ON word_ranges TO querymill_reader USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));
CREATE POLICY own_collection ON word_blocks TO querymill_reader USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));
