-- The descriptions of code documents, as they are embedded: long ones in passages. They change in one transaction with
-- the register and the words.
CREATE TABLE module_passages (
    collection text    COLLATE "C" NOT NULL,
    document   text    COLLATE "C" NOT NULL,
    number     integer NOT NULL,
    text       text    NOT NULL,
    PRIMARY KEY (collection, document, number)
);

-- Their vectors, a row for each model, of any dimension.
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

-- The record whose description is in module_passages. Workers of the release before store records without one.
ALTER TABLE module_register ADD COLUMN described text;
