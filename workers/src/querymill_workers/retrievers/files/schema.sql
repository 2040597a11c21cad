-- Files of code bases, their symbols, and their chunks with vectors.
CREATE TABLE code_files (
    collection text    NOT NULL,
    path       text    COLLATE "C" NOT NULL,
    language   text    NOT NULL,
    size       integer NOT NULL,
    lines      integer NOT NULL,
    tokens     integer NOT NULL,
    parsed_by  text    NOT NULL,
    content    text    NOT NULL,
    metadata   jsonb   NOT NULL DEFAULT '{}',
    PRIMARY KEY (collection, path)
);
ALTER TABLE code_files ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

CREATE TABLE code_symbols (
    collection text    NOT NULL,
    path       text    COLLATE "C" NOT NULL,
    name       text    COLLATE "C" NOT NULL,
    role       text    NOT NULL CHECK (role IN ('definition', 'import', 'call', 'type')),
    kind       text    NOT NULL,
    line       integer NOT NULL,
    end_line   integer NOT NULL,
    qualifier  text    NOT NULL,
    times      integer NOT NULL
);
CREATE INDEX code_symbols_name ON code_symbols (collection, name, role, path);
CREATE INDEX code_symbols_path ON code_symbols (collection, path);

-- key: the hash of the embedded text, so that an unchanged chunk keeps its vector wherever it moves in its file.
CREATE TABLE code_chunks (
    collection text    NOT NULL,
    path       text    COLLATE "C" NOT NULL,
    key        text    COLLATE "C" NOT NULL,
    number     integer NOT NULL,
    line       integer NOT NULL,
    end_line   integer NOT NULL,
    symbol     text    NOT NULL,
    text       text    NOT NULL,
    PRIMARY KEY (collection, path, key)
);
ALTER TABLE code_chunks ALTER COLUMN text SET STATISTICS 0;

-- One row for each model: the vectors of another model are stored beside the ones that searches compare.
-- Apart from the texts they are read faster: a search compares every vector of a collection and model.
CREATE TABLE code_vectors (
    collection text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    path       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    refused    text,        -- why
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, model, path, key),
    CONSTRAINT code_vectors_chunk FOREIGN KEY (collection, path, key)
        REFERENCES code_chunks (collection, path, key) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE code_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL, ALTER COLUMN refused SET STATISTICS 0;
CREATE INDEX code_vectors_chunk ON code_vectors (collection, path, key);
