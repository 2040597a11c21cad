-- Texts that a provider refused, by the passage's id. Nothing of the text is kept.
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
ALTER TABLE set_aside ALTER COLUMN reason SET STATISTICS 0;
