-- The order of acceptance: the version of each document, and tombstones of what was forgotten.

-- written: the last whole write; dropped: the last drop. Either may be missing.
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
CREATE INDEX document_versions_dropped ON document_versions (collection, kind, dropped_at) WHERE dropped_at IS NOT NULL;

-- scope: a filter, or null for the whole collection.
CREATE TABLE tombstones (
    collection   text   COLLATE "C" NOT NULL,
    kind         text   COLLATE "C" NOT NULL,
    forgotten_us bigint NOT NULL,
    forgotten_by text   COLLATE "C" NOT NULL,
    scope        jsonb,
    forgotten_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, kind, forgotten_us, forgotten_by)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON document_versions, tombstones TO querymill_messages;
ALTER TABLE document_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY;
ALTER TABLE document_versions FORCE ROW LEVEL SECURITY;
ALTER TABLE tombstones FORCE ROW LEVEL SECURITY;
CREATE POLICY own_collection ON document_versions USING (collection = current_setting('querymill.collection', true));
CREATE POLICY own_collection ON tombstones USING (collection = current_setting('querymill.collection', true));
