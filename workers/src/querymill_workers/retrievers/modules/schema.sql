-- Code documents, whose bodies are in MongoDB: which record counts, their descriptions in passages, and vectors.

-- The record of MongoDB that counts, for each document: it changes in one transaction with the document's words.
CREATE TABLE module_register (
    collection text COLLATE "C" NOT NULL,
    document   text COLLATE "C" NOT NULL,
    record     text NOT NULL,
    described  text,            -- the record whose description is in module_passages
    PRIMARY KEY (collection, document)
);

-- The descriptions, as they are embedded: long ones in passages. They change in one transaction with the register.
CREATE TABLE module_passages (
    collection text    COLLATE "C" NOT NULL,
    document   text    COLLATE "C" NOT NULL,
    number     integer NOT NULL,
    text       text    NOT NULL,
    PRIMARY KEY (collection, document, number)
);
ALTER TABLE module_passages ALTER COLUMN text SET STATISTICS 0;

-- One row for each model, of any dimension.
CREATE TABLE module_vectors (
    collection text    COLLATE "C" NOT NULL,
    model      text    COLLATE "C" NOT NULL,
    document   text    COLLATE "C" NOT NULL,
    number     integer NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    PRIMARY KEY (collection, model, document, number),
    CONSTRAINT module_vectors_passage FOREIGN KEY (collection, document, number)
        REFERENCES module_passages (collection, document, number) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE module_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL;
CREATE INDEX module_vectors_passage ON module_vectors (collection, document, number);
