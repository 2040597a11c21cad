-- Live messages stand beside the whole session, each with the version that wrote it, so that writes commute.

-- whole: whether document is a session that was put whole; if not, all its messages are live ones.
-- said: what updates said of the session since, with versions. sketch: what facts are found from without the texts.
-- tended: the revision that was current when live messages were last looked at. A worker of an earlier release changes
-- the revision and knows no live messages.
ALTER TABLE conversations
    ADD COLUMN whole boolean NOT NULL DEFAULT true,
    ADD COLUMN said jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN sketch json,
    ADD COLUMN tended text,
    ADD COLUMN roles text[] COLLATE "C" NOT NULL DEFAULT '{}',
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';

-- text: of a message that a later write replaced, it is empty; its place stays.
CREATE TABLE conversation_messages (
    collection  text    COLLATE "C" NOT NULL,
    session_id  text    COLLATE "C" NOT NULL,
    accepted_us bigint  NOT NULL,
    job_id      text    COLLATE "C" NOT NULL,
    place       integer NOT NULL,                      -- within the update
    signs       smallint NOT NULL,                     -- of a solved problem, and of an earlier session
    message     json    NOT NULL,
    PRIMARY KEY (collection, session_id, accepted_us, job_id, place)
);

UPDATE conversations SET
    roles = ARRAY(
        SELECT DISTINCT message ->> 'role' FROM json_array_elements(document::json -> 'messages') AS message
        WHERE message ->> 'role' IS NOT NULL ORDER BY 1
    ),
    metadata = document::jsonb - ARRAY['session_id', 'name', 'user_name', 'started_at', 'messages'];

CREATE INDEX conversations_metadata ON conversations USING gin (metadata jsonb_path_ops);
CREATE INDEX conversations_user ON conversations (collection, user_name);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversation_messages TO querymill_messages;
ALTER TABLE conversation_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversation_messages FORCE ROW LEVEL SECURITY;
CREATE POLICY own_collection ON conversation_messages
    USING (collection = current_setting('querymill.collection', true));
