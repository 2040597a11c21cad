-- Files of code bases, their symbols, and their chunks with vectors. {dimensions} is the embedding model's.
CREATE TABLE code_files (
    collection text    NOT NULL,
    path       text    COLLATE "C" NOT NULL,
    revision   text    NOT NULL,
    language   text    NOT NULL,
    size       integer NOT NULL,
    lines      integer NOT NULL,
    tokens     integer NOT NULL,
    parsed_by  text    NOT NULL,
    content    text    NOT NULL,
    PRIMARY KEY (collection, path)
);

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

-- key: the hash of what is embedded, so that an unchanged chunk keeps its vector wherever it moves in its file.
CREATE TABLE code_chunks (
    collection text    NOT NULL,
    path       text    COLLATE "C" NOT NULL,
    key        text    COLLATE "C" NOT NULL,
    number     integer NOT NULL,
    line       integer NOT NULL,
    end_line   integer NOT NULL,
    symbol     text    NOT NULL,
    text       text    NOT NULL,
    model      text,                -- the model of the vector; null while it is pending
    embedding  vector({dimensions}),
    PRIMARY KEY (collection, path, key)
);
-- Every vector of a collection is compared: in the row it is read quickest.
ALTER TABLE code_chunks ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX code_chunks_model ON code_chunks (collection, model, path);
