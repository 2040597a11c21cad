-- The order of acceptance: the version of each document, and tombstones of dropped filters and collections.

-- written: the last whole write. dropped: the last drop. Either may be missing.
CREATE TABLE document_versions (
    collection text   COLLATE "C" NOT NULL,
    kind       text   COLLATE "C" NOT NULL,
    document   text   COLLATE "C" NOT NULL,
    written_us bigint,
    written_by text   COLLATE "C",
    dropped_us bigint,
    dropped_by text   COLLATE "C",
    dropped_at timestamptz,
    PRIMARY KEY (collection, kind, document)
) WITH (fillfactor = 80);
-- The largest versions, for a board that was moved or has lost its data: see the README of this room. Only versions above the
-- board's own are looked for, so blocks of rows with none are passed over.
CREATE INDEX document_versions_written ON document_versions USING brin (written_us, dropped_us) WITH (autosummarize = on);
CREATE INDEX document_versions_dropped ON document_versions (collection, kind, dropped_at) WHERE dropped_at IS NOT NULL;

CREATE TABLE tombstones (
    collection   text   COLLATE "C" NOT NULL,
    kind         text   COLLATE "C" NOT NULL,
    forgotten_us bigint NOT NULL,
    forgotten_by text   COLLATE "C" NOT NULL,
    scope        jsonb,                      -- the filter, or null for the whole collection
    forgotten_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, kind, forgotten_us, forgotten_by)
);
ALTER TABLE tombstones ALTER COLUMN scope SET STATISTICS 0;
