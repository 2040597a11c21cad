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
