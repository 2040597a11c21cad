-- Texts that a provider refused, by the passage's id; nothing of the text is here.
CREATE TABLE set_aside (
    collection text        COLLATE "C" NOT NULL,
    kind       text        COLLATE "C" NOT NULL,
    document   text        COLLATE "C" NOT NULL,
    passage    text        COLLATE "C" NOT NULL,
    model      text        COLLATE "C" NOT NULL,  -- that refused it
    reason     text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, kind, document, passage, model)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON set_aside TO querymill_messages;
ALTER TABLE set_aside ENABLE ROW LEVEL SECURITY;
ALTER TABLE set_aside FORCE ROW LEVEL SECURITY;
CREATE POLICY own_collection ON set_aside USING (collection = current_setting('querymill.collection', true));
