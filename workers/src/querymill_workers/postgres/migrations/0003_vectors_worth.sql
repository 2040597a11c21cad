-- What the vectors of a model are worth on a collection, as it was estimated last.
CREATE TABLE vectors_worth (
    collection text        COLLATE "C" NOT NULL,
    kind       text        COLLATE "C" NOT NULL,
    model      text        COLLATE "C" NOT NULL,
    worth      jsonb       NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, kind, model)
);
ALTER TABLE vectors_worth ALTER COLUMN worth SET STATISTICS 0;
