-- Messages of chats, their sessions, and their vectors. {dimensions} is the embedding model's.
CREATE TABLE chat_sessions (
    collection text        NOT NULL,
    session_id text        NOT NULL,
    name       text,
    user_name  text,
    started_at timestamptz NOT NULL,
    metadata   jsonb       NOT NULL,
    draft      text        NOT NULL,  -- the revision whose rows are here
    revision   text,                  -- the same once its words and vectors are here too
    PRIMARY KEY (collection, session_id)
);

-- message_key: the message's id, or its place in the session where it has none.
CREATE TABLE chat_messages (
    collection  text        NOT NULL,
    session_id  text        NOT NULL,
    message_key text        NOT NULL,
    number      integer     NOT NULL,
    message_id  text,
    role        text,
    content     text        NOT NULL,
    created_at  timestamptz NOT NULL,
    metadata    jsonb       NOT NULL,
    PRIMARY KEY (collection, session_id, message_key)
);

-- A row of another model stays until its session's rows of the new model are complete.
CREATE TABLE chat_message_vectors (
    collection  text        NOT NULL,
    vector_id   text COLLATE "C" NOT NULL,
    model       text COLLATE "C" NOT NULL,
    session_id  text        NOT NULL,
    message_key text        NOT NULL,
    message_id  text,
    vector_type text        NOT NULL CHECK (vector_type IN ('message', 'context')),
    content     text        NOT NULL,
    embedding   vector({dimensions}),   -- null while it is pending
    indexed     boolean     NOT NULL DEFAULT false,  -- whether its words are among the words
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (collection, vector_id, model)
);
-- Narrow filters are read through this, and searched exactly.
CREATE INDEX chat_message_vectors_filter ON chat_message_vectors (collection, model, vector_type, session_id);
CREATE INDEX chat_message_vectors_session ON chat_message_vectors (collection, session_id);
CREATE INDEX chat_message_vectors_pending ON chat_message_vectors (collection, session_id) WHERE embedding IS NULL;
-- Half precision halves the index; what it finds is scored again in full.
CREATE INDEX chat_message_vectors_near ON chat_message_vectors
    USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops);

-- The second wall: rows of another collection are not there at all for the role that every statement runs as,
-- whatever its predicates say. `walls.py` makes the role before the first migration, or says what an administrator must run.
GRANT SELECT, INSERT, UPDATE, DELETE ON chat_sessions, chat_messages, chat_message_vectors TO querymill_messages;
ALTER TABLE chat_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_message_vectors ENABLE ROW LEVEL SECURITY;
-- The owner too, where it is not a superuser.
ALTER TABLE chat_sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_messages FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_message_vectors FORCE ROW LEVEL SECURITY;
-- Without the setting there is no row.
CREATE POLICY own_collection ON chat_sessions USING (collection = current_setting('querymill.collection', true));
CREATE POLICY own_collection ON chat_messages USING (collection = current_setting('querymill.collection', true));
CREATE POLICY own_collection ON chat_message_vectors
    USING (collection = current_setting('querymill.collection', true));
