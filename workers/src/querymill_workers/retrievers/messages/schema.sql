-- Messages of chats, their sessions, and their vectors.
CREATE TABLE chat_sessions (
    collection text        COLLATE "C" NOT NULL,
    session_id text        COLLATE "C" NOT NULL,
    name       text,
    user_name  text,
    started_at timestamptz NOT NULL,
    metadata   jsonb       NOT NULL,
    PRIMARY KEY (collection, session_id)
);
ALTER TABLE chat_sessions
    ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN user_name SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

CREATE TABLE chat_messages (
    collection  text        COLLATE "C" NOT NULL,
    session_id  text        COLLATE "C" NOT NULL,
    message_key text        NOT NULL,  -- the message's id, or its place in the session if it has none
    number      integer     NOT NULL,
    message_id  text,
    role        text,
    content     text        NOT NULL,
    created_at  timestamptz NOT NULL,
    metadata    jsonb       NOT NULL,
    -- The names of its fields, as one number: messages of a collection have few different sets of names.
    fields      bigint GENERATED ALWAYS AS (
        -- Most have none, and the function costs more than the row.
        CASE WHEN metadata = '{}' THEN jsonb_hash_extended('[]', 0) ELSE metadata_fields(metadata) END
    ) STORED,
    PRIMARY KEY (collection, session_id, message_key)
);
CREATE INDEX chat_messages_fields ON chat_messages (collection, fields, session_id);
ALTER TABLE chat_messages ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

-- key: it changes with the content, so that a passage that stays as it is keeps its vectors.
CREATE TABLE chat_passages (
    collection  text        COLLATE "C" NOT NULL,
    session_id  text        COLLATE "C" NOT NULL,
    key         text        COLLATE "C" NOT NULL,
    vector_id   text        COLLATE "C" NOT NULL,
    message_key text        NOT NULL,
    message_id  text,
    vector_type text        NOT NULL CHECK (vector_type IN ('message', 'context')),
    content     text        NOT NULL,
    waiting     boolean     NOT NULL DEFAULT true,  -- no model has made its vector or refused it
    around      text[],                          -- of a context: the ids of the messages whose texts it holds
    text_id     text        COLLATE "C",         -- the id of the text's first passage; null if the passage is the whole text
    number      integer     NOT NULL DEFAULT 0,  -- of the passage within its text
    start       integer     NOT NULL DEFAULT 0,  -- its first character
    passages    integer     NOT NULL DEFAULT 1,  -- of the text
    -- What filters look at.
    created_at  timestamptz NOT NULL,
    user_name   text,
    role        text,
    metadata    jsonb       NOT NULL DEFAULT '{}',
    PRIMARY KEY (collection, session_id, key)
);
CREATE UNIQUE INDEX chat_passages_vector_id ON chat_passages (collection, vector_id);
-- Narrow filters are read through this, and searched exactly.
CREATE INDEX chat_passages_filter ON chat_passages (collection, vector_type, session_id);
CREATE INDEX chat_passages_waiting ON chat_passages (collection, session_id) WHERE waiting;
CREATE INDEX chat_passages_text ON chat_passages (collection, text_id) WHERE text_id IS NOT NULL;
CREATE INDEX chat_passages_user ON chat_passages (collection, user_name COLLATE "C");
CREATE INDEX chat_passages_role ON chat_passages (collection, role COLLATE "C");
CREATE INDEX chat_passages_time ON chat_passages (collection, created_at);
ALTER TABLE chat_passages
    ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN user_name SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

-- One row for each model: the vectors of another model are stored beside the ones that searches compare.
CREATE TABLE chat_vectors (
    collection text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    refused    text,        -- why
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, model, session_id, key),
    FOREIGN KEY (collection, session_id, key) REFERENCES chat_passages (collection, session_id, key) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE chat_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL, ALTER COLUMN refused SET STATISTICS 0;
CREATE INDEX chat_vectors_passage ON chat_vectors (collection, session_id, key);
CREATE INDEX chat_vectors_refused ON chat_vectors (collection, model) WHERE embedding IS NULL;

-- note_embedded: keep whether passages wait, so that a search counts those that do without reading the others
CREATE FUNCTION note_embedded() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    UPDATE chat_passages AS p SET waiting = NOT p.waiting
    FROM (SELECT DISTINCT collection, session_id, key FROM changed ORDER BY session_id, key) AS changed
    WHERE p.collection = changed.collection AND p.session_id = changed.session_id AND p.key = changed.key
        AND p.waiting = EXISTS (
            SELECT FROM chat_vectors AS v
            WHERE v.collection = p.collection AND v.session_id = p.session_id AND v.key = p.key
        );
    RETURN NULL;
END $$;
CREATE TRIGGER chat_vectors_added AFTER INSERT ON chat_vectors REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION note_embedded();
CREATE TRIGGER chat_vectors_dropped AFTER DELETE ON chat_vectors REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION note_embedded();
