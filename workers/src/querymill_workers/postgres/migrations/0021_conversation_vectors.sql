-- Passages of conversations and their vectors, beside the words.

-- passages_of: the revision whose passages are stored; a worker of the release before stores none.
-- waiting: the token of the embedding job that waits for the session.
ALTER TABLE conversations
    ADD COLUMN passages_of text,
    ADD COLUMN waiting text;
CREATE INDEX conversations_uncut ON conversations (collection, session_id) WHERE passages_of IS DISTINCT FROM revision;

-- key: the hash of what is embedded and where it begins, so that a passage that stays as it is keeps its vectors.
CREATE TABLE conversation_passages (
    collection text        COLLATE "C" NOT NULL,
    session_id text        COLLATE "C" NOT NULL,
    key        text        COLLATE "C" NOT NULL,
    number     integer     NOT NULL,              -- within the session
    place      integer     NOT NULL,              -- of its first message within the session
    message    text        NOT NULL,              -- the key of that message
    start      integer     NOT NULL,              -- where the passage begins in it
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    text       text        NOT NULL,
    PRIMARY KEY (collection, session_id, key),
    -- Whoever drops a session drops its passages, also a worker of the release before.
    FOREIGN KEY (collection, session_id) REFERENCES conversations (collection, session_id) ON DELETE CASCADE
);

-- A row for each model: the vectors of another model stand beside the ones that searches compare.
CREATE TABLE conversation_vectors (
    collection text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    PRIMARY KEY (collection, model, session_id, key),
    FOREIGN KEY (collection, session_id, key)
        REFERENCES conversation_passages (collection, session_id, key) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE conversation_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL;
CREATE INDEX conversation_vectors_passage ON conversation_vectors (collection, session_id, key);

-- The model that searches of a collection compare.
CREATE TABLE conversation_models (
    collection text COLLATE "C" PRIMARY KEY,
    model      text COLLATE "C" NOT NULL
);
