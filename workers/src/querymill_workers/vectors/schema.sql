-- What every retriever keeps about its vectors. The passages and the vectors themselves are in the retriever's tables.

-- The model whose vectors searches of a collection compare.
CREATE TABLE active_models (
    collection text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    PRIMARY KEY (collection, kind)
);

-- The embedding job that waits for a document: a change that comes before the job begins submits no other.
CREATE TABLE awaited_embeddings (
    collection text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    document   text COLLATE "C" NOT NULL,
    token      text NOT NULL,
    PRIMARY KEY (collection, kind, document)
);

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
