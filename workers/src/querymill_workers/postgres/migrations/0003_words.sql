-- Words of units, for exact BM25. A space is one kind of unit of one collection; its number stands for both in the
-- tables below, and is only ever looked up by both.
CREATE TABLE word_spaces (
    number     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection text    NOT NULL,
    space      text    NOT NULL,
    version    integer NOT NULL,             -- of the tokeniser
    units      bigint  NOT NULL DEFAULT 0,
    length     bigint  NOT NULL DEFAULT 0,   -- the words of all units, repetitions included
    UNIQUE (collection, space)
) WITH (fillfactor = 50);  -- counted anew with every change: leave room in the page

CREATE TABLE word_groups (
    space  integer NOT NULL,
    name   text    NOT NULL,
    number integer GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (space, name)
);

CREATE TABLE word_units (
    space  integer NOT NULL,
    id     text COLLATE "C" NOT NULL,
    number bigint  GENERATED ALWAYS AS IDENTITY,
    grp    integer NOT NULL,
    length integer,                          -- null only within the transaction that adds the unit
    PRIMARY KEY (space, id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX word_units_number ON word_units (number);

-- A query reads this by its primary key alone, which holds every column.
CREATE TABLE word_postings (
    space  integer  NOT NULL,
    term   text COLLATE "C" NOT NULL,
    grp    integer  NOT NULL,
    unit   bigint   NOT NULL,
    tf     integer  NOT NULL,
    length integer  NOT NULL,                -- of the unit
    PRIMARY KEY (space, term, grp, unit) INCLUDE (tf, length)
);
CREATE INDEX word_postings_unit ON word_postings (unit);

CREATE TABLE word_frequencies (
    space integer NOT NULL,
    term  text COLLATE "C" NOT NULL,
    df    integer NOT NULL,                  -- how many units have the term
    PRIMARY KEY (space, term)
) WITH (fillfactor = 70);
