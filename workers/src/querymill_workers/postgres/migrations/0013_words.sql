-- Words in blocks: writes add runs, which are folded into blocks of postings later. See words/adr/0001.

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
    former bigint,                           -- the number before the last write
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

-- What is there is moved. The tables of the former release stay, for its workers that still run.
INSERT INTO word_indexes (collection, space, version, whole)
SELECT collection, space, version, whole FROM word_spaces ORDER BY number;

CREATE TEMPORARY TABLE moved_words ON COMMIT DROP AS
SELECT *, row_number() OVER (PARTITION BY run ORDER BY ordinal) - 1 AS place,
    run * 128 + row_number() OVER (PARTITION BY run ORDER BY ordinal) - 1 AS number
FROM (
    SELECT *, dense_rank() OVER (ORDER BY space, ordinal / 128, before / 4096) AS run
    FROM (
        SELECT own.number AS space, unit.id, unit.number AS unit, unit.length, grouped.name AS grp, counted.terms,
            row_number() OVER in_order - 1 AS ordinal,
            sum(counted.terms) OVER (in_order ROWS UNBOUNDED PRECEDING)::bigint - counted.terms AS before
        FROM word_units AS unit
        JOIN word_spaces AS former ON former.number = unit.space
        JOIN word_indexes AS own ON own.collection = former.collection AND own.space = former.space
            AND own.version = former.version
        JOIN word_groups AS grouped ON grouped.space = unit.space AND grouped.number = unit.grp
        CROSS JOIN LATERAL (SELECT count(*) AS terms FROM word_postings WHERE word_postings.unit = unit.number) AS counted
        WHERE unit.length IS NOT NULL
        WINDOW in_order AS (PARTITION BY own.number ORDER BY grouped.name COLLATE "C", unit.number)
    ) AS numbered
) AS packed;
CREATE UNIQUE INDEX ON moved_words (unit);
ANALYZE moved_words;

INSERT INTO word_entries (word_index, id, number) SELECT space, id, number FROM moved_words ORDER BY space, id;

INSERT INTO word_runs (word_index, run, ids, groups, entries, words, tfs)
SELECT entry.space, entry.run, ids, groups, entries, coalesce(words, ''), coalesce(tfs, '')
FROM (
    SELECT space, run, jsonb_agg(id ORDER BY place) AS ids,
        string_agg(int8send(number) || int4send(length) || int4send(terms::int) || int4send(1), '' ORDER BY place)
            AS entries
    FROM moved_words GROUP BY space, run
) AS entry
JOIN (
    SELECT run, jsonb_agg(jsonb_build_array(grp, first, last) ORDER BY first) AS groups
    FROM (SELECT run, grp, min(number) AS first, max(number) AS last FROM moved_words GROUP BY run, grp) AS part
    GROUP BY run
) AS grouped USING (run)
LEFT JOIN (
    SELECT run, string_agg(convert_to(term || ' ', 'UTF8'), '' ORDER BY place, term) AS words,
        string_agg(int4send(tf), '' ORDER BY place, term) AS tfs
    FROM moved_words JOIN word_postings USING (unit) GROUP BY run
) AS spelled USING (run);

INSERT INTO word_ranges (word_index, grp, first, last)
SELECT space, grp, min(number), max(number) FROM moved_words GROUP BY space, grp, run;

INSERT INTO word_blocks (word_index, term, block, n, first, last, postings)
SELECT space, term, CASE WHEN chunk = (total - 1) / 112 THEN 0 ELSE chunk + 1 END,
    count(*), min(number), max(number),
    string_agg(int8send(number) || int4send(length) || int4send(tf), '' ORDER BY number)
FROM (
    SELECT moved.space, term, number, posting.length, tf, count(*) OVER (PARTITION BY moved.space, term) AS total,
        (row_number() OVER (PARTITION BY moved.space, term ORDER BY number) - 1) / 112 AS chunk
    FROM moved_words AS moved JOIN word_postings AS posting USING (unit)
) AS posting
GROUP BY space, term, chunk, total;

UPDATE word_indexes AS own SET units = counted.units, length = counted.length, postings = counted.postings
FROM (
    SELECT space, count(*) AS units, sum(length) AS length, sum(terms) AS postings FROM moved_words GROUP BY space
) AS counted
WHERE counted.space = own.number;
SELECT setval('word_run_numbers', greatest(
    (SELECT coalesce(max(run), 0) FROM word_runs), (SELECT coalesce(max(block), 0) FROM word_blocks)
) + 1);
TRUNCATE word_spaces, word_groups, word_units, word_postings, word_frequencies;

GRANT USAGE ON SEQUENCE word_run_numbers TO querymill_messages;
CREATE POLICY own_collection ON word_entries TO querymill_messages USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));

CREATE POLICY own_collection ON word_runs TO querymill_messages USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));

CREATE POLICY own_collection ON word_tail TO querymill_messages USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));

CREATE POLICY own_collection ON word_ranges TO querymill_messages USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));

CREATE POLICY own_collection ON word_blocks TO querymill_messages USING (word_index = ANY (ARRAY(
    SELECT number FROM word_indexes WHERE collection = current_setting('querymill.collection', true)
)));
