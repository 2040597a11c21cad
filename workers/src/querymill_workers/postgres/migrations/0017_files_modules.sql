-- The record of MongoDB that counts, for each code document: it changes in one transaction with the document's words.
CREATE TABLE module_register (
    collection text COLLATE "C" NOT NULL,
    document   text COLLATE "C" NOT NULL,
    record     text NOT NULL,
    PRIMARY KEY (collection, document)
);

-- A vector of any dimension. Not the bare type: the release before does not start where a column of it has no dimension.
DO $$
BEGIN
    IF to_regtype('any_vector') IS NULL THEN
        CREATE DOMAIN any_vector AS vector;
    END IF;
END $$;

-- The vectors of chunks, a row for each model: those of another model stand beside the ones that searches compare.
-- Apart from the texts, they are read quicker: every vector of a collection and model is compared.
CREATE TABLE code_vectors (
    collection text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    path       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    PRIMARY KEY (collection, model, path, key)
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE code_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL;
INSERT INTO code_vectors (collection, model, path, key, embedding)
SELECT collection, model, path, key, embedding FROM code_chunks WHERE embedding IS NOT NULL;
-- A chunk takes its vectors with it.
ALTER TABLE code_vectors ADD CONSTRAINT code_vectors_chunk FOREIGN KEY (collection, path, key)
    REFERENCES code_chunks (collection, path, key) ON DELETE CASCADE;
CREATE INDEX code_vectors_chunk ON code_vectors (collection, path, key);

-- The model that searches of a collection compare.
CREATE TABLE code_models (
    collection text COLLATE "C" PRIMARY KEY,
    model      text COLLATE "C" NOT NULL
);
INSERT INTO code_models (collection, model)
SELECT DISTINCT ON (collection) collection, model FROM code_vectors
GROUP BY collection, model ORDER BY collection, count(*) DESC, model;

-- Workers of the release before still write model and embedding beside the text; the next release drops both columns.
ALTER TABLE code_chunks ALTER COLUMN embedding TYPE any_vector;

-- What filters look at.
CREATE INDEX code_files_metadata ON code_files USING gin (metadata jsonb_path_ops);
CREATE INDEX code_files_language ON code_files (collection, language);
