-- Messages of chats, their sessions, and their vectors.
CREATE TABLE chat_sessions (
    collection text        NOT NULL,
    session_id text        NOT NULL,
    name       text,
    user_name  text,
    started_at timestamptz NOT NULL,
    metadata   jsonb       NOT NULL,
    draft      text        NOT NULL,  -- the revision whose rows are stored
    revision   text,                  -- the same once its words and vectors are stored too
    waiting    text,                  -- the token of the embedding job that waits for the session
    PRIMARY KEY (collection, session_id)
);
CREATE INDEX chat_sessions_user ON chat_sessions (collection, user_name COLLATE "C");
CREATE INDEX chat_sessions_spelled ON chat_sessions (collection, session_id COLLATE "C");
CREATE INDEX chat_sessions_started_at ON chat_sessions (collection, started_at);
ALTER TABLE chat_sessions
    ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN user_name SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;
CALL pg_temp.look_up('chat_sessions', 'session_id');

CREATE TABLE chat_messages (
    collection  text        NOT NULL,
    session_id  text        NOT NULL,
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
CREATE INDEX chat_messages_role ON chat_messages (collection, role COLLATE "C", session_id);
CREATE INDEX chat_messages_fields ON chat_messages (collection, fields, session_id);
ALTER TABLE chat_messages ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;
CALL pg_temp.look_up('chat_messages', 'session_id', 'message_key');

-- A row of another model stays until its session's rows of the new model are complete.
CREATE TABLE chat_message_vectors (
    collection  text        NOT NULL,
    vector_id   text        COLLATE "C" NOT NULL,
    model       text        COLLATE "C" NOT NULL,
    session_id  text        NOT NULL,
    message_key text        NOT NULL,
    message_id  text,
    vector_type text        NOT NULL CHECK (vector_type IN ('message', 'context')),
    content     text        NOT NULL,
    embedding   any_vector,                      -- null: the passage waits for its vector, or is set aside
    set_aside   boolean     NOT NULL DEFAULT false,  -- the model's provider refused it
    indexed     boolean     NOT NULL DEFAULT false,  -- whether its words are in the text index
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
    PRIMARY KEY (collection, vector_id, model)
);
-- Narrow filters are read through this, and searched exactly.
CREATE INDEX chat_message_vectors_filter ON chat_message_vectors (collection, model, vector_type, session_id);
-- Rows of other models are counted for each search: with the model in the index none of a session's own is read.
CREATE INDEX chat_message_vectors_models ON chat_message_vectors (collection, session_id, model);
CREATE INDEX chat_message_vectors_pending ON chat_message_vectors (collection, session_id) WHERE embedding IS NULL;
CREATE INDEX chat_message_vectors_text ON chat_message_vectors (collection, text_id) WHERE text_id IS NOT NULL;
CREATE INDEX chat_message_vectors_user ON chat_message_vectors (collection, user_name COLLATE "C", model);
CREATE INDEX chat_message_vectors_role ON chat_message_vectors (collection, role COLLATE "C");
CREATE INDEX chat_message_vectors_time ON chat_message_vectors (collection, created_at);
ALTER TABLE chat_message_vectors
    ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN user_name SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

-- The model that searches of a collection compare. No wall: a worker that starts reads which collections exist.
CREATE TABLE chat_models (
    collection text PRIMARY KEY,
    model      text COLLATE "C" NOT NULL
);
