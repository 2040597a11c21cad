-- Reports, their pages, and their passages with vectors. {dimensions} is the embedding model's.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE reports (
    collection   text        NOT NULL,
    sha1         text        NOT NULL,
    title        text        NOT NULL,
    company      text        NOT NULL,
    aliases      text[]      NOT NULL,
    period       text,
    published_at date,
    metadata     jsonb       NOT NULL,
    revision     text        NOT NULL,  -- the passages that are searchable now
    model        text        NOT NULL,  -- whose vectors they are
    passages     integer     NOT NULL,
    published    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, sha1)
);

CREATE TABLE report_pages (
    collection text    NOT NULL,
    sha1       text    NOT NULL,
    page       integer NOT NULL,
    text       text    NOT NULL,
    PRIMARY KEY (collection, sha1, page)
);

-- Several revisions of a report may be drafted beside the published one.
CREATE TABLE report_passages (
    collection text    NOT NULL,
    sha1       text    NOT NULL,
    revision   text    NOT NULL,
    number     integer NOT NULL,
    page       integer NOT NULL,
    text       text    NOT NULL,
    tokens     integer NOT NULL,
    embedding  vector({dimensions}) NOT NULL,
    PRIMARY KEY (collection, sha1, revision, number)
);

-- One number per collection that changes whenever its reports do: caches are keyed by it.
CREATE TABLE report_generations (
    collection text   PRIMARY KEY,
    generation bigint NOT NULL
);
