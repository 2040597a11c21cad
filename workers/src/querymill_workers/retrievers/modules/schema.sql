-- Code documents, whose bodies are in MongoDB: which record counts, their descriptions in passages, and vectors.

-- The record of MongoDB that counts, for each document: it changes in one transaction with the document's words.
CREATE TABLE module_register (
    collection text COLLATE "C" NOT NULL,
    document   text COLLATE "C" NOT NULL,
    record     text NOT NULL,
    PRIMARY KEY (collection, document)
);

-- The descriptions, as they are embedded: long ones in passages. They change in one transaction with the register.
-- document: the id as users give it. key: the hash of the text, so that an unchanged passage keeps its vector.
CREATE TABLE module_passages (
    collection text    COLLATE "C" NOT NULL,
    document   text    COLLATE "C" NOT NULL,
    key        text    COLLATE "C" NOT NULL,
    text       text    NOT NULL,
    PRIMARY KEY (collection, document, key)
);
ALTER TABLE module_passages ALTER COLUMN text SET STATISTICS 0;

-- One row for each model, of any dimension.
CREATE TABLE module_vectors (
    collection text    COLLATE "C" NOT NULL,
    model      text    COLLATE "C" NOT NULL,
    document   text    COLLATE "C" NOT NULL,
    key        text    COLLATE "C" NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    refused    text,        -- why
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, model, document, key),
    CONSTRAINT module_vectors_passage FOREIGN KEY (collection, document, key)
        REFERENCES module_passages (collection, document, key) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE module_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL, ALTER COLUMN refused SET STATISTICS 0;
CREATE INDEX module_vectors_passage ON module_vectors (collection, document, key);
