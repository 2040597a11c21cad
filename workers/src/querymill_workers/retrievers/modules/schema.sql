-- Code documents. Their bodies are here, or in MongoDB; their descriptions in passages, and vectors, are here.

-- document: the id as users give it. names: dotted, as they came.
CREATE TABLE module_documents (
    collection  text   COLLATE "C" NOT NULL,
    document    text   COLLATE "C" NOT NULL,
    description text   NOT NULL,
    names       text[] NOT NULL,
    body        text   NOT NULL,  -- the document as it was ingested
    PRIMARY KEY (collection, document)
);
ALTER TABLE module_documents
    ALTER COLUMN description SET STATISTICS 0, ALTER COLUMN names SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;

-- Documents by the names of their modules, reversed and in lower case: a suffix of a name is a prefix of its reversal.
CREATE TABLE module_postings (
    collection text COLLATE "C" NOT NULL,
    reversed   text COLLATE "C" NOT NULL,
    document   text COLLATE "C" NOT NULL,
    name       text NOT NULL,  -- as it was written first
    PRIMARY KEY (collection, reversed, document)
);
CREATE INDEX module_postings_document ON module_postings (collection, document);
ALTER TABLE module_postings ALTER COLUMN name SET STATISTICS 0;

-- changes: how often documents were written or dropped before the last lexicon; the rows of module_changes come on top.
CREATE TABLE module_vocabularies (
    collection      text   COLLATE "C" PRIMARY KEY,
    changes         bigint NOT NULL DEFAULT 0,
    learned_changes bigint NOT NULL DEFAULT 0,  -- the changes that the lexicon was learned from
    version         bigint NOT NULL DEFAULT 0,
    lexicon         text                        -- null: none was learned
);
ALTER TABLE module_vocabularies ALTER COLUMN lexicon SET STATISTICS 0;

-- Rows and no counter: writers do not wait for each other.
CREATE TABLE module_changes (
    collection text    COLLATE "C" NOT NULL,
    documents  integer NOT NULL
);
CREATE INDEX module_changes_collection ON module_changes (collection);

-- The record of MongoDB that counts, for each document whose body is there: it changes in one transaction with the
-- document's words.
CREATE TABLE module_register (
    collection text COLLATE "C" NOT NULL,
    document   text COLLATE "C" NOT NULL,
    record     text NOT NULL,
    PRIMARY KEY (collection, document)
);

-- The descriptions, as they are embedded: long ones in passages. They change in one transaction with the words.
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
