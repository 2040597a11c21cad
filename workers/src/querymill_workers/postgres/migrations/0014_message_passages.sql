-- Long texts in several passages, what filters look at beside each vector, refused texts, and vectors of any dimension.

-- A vector of any dimension. Not the bare type: the release before does not start where a column of it has no dimension.
CREATE DOMAIN any_vector AS vector;
DROP INDEX chat_message_vectors_near;
ALTER TABLE chat_message_vectors
    ALTER COLUMN embedding TYPE any_vector,
    -- The id of the text that a passage is of, the same as that of its first passage; null where it is the whole text.
    ADD COLUMN text_id   text COLLATE "C",
    ADD COLUMN number    integer NOT NULL DEFAULT 0,  -- of the passage within its text
    ADD COLUMN start     integer NOT NULL DEFAULT 0,  -- its first character
    ADD COLUMN passages  integer NOT NULL DEFAULT 1,  -- how many the text has
    ADD COLUMN set_aside boolean NOT NULL DEFAULT false,  -- the model's provider refused it
    ADD COLUMN user_name text,
    ADD COLUMN role      text,
    ADD COLUMN metadata  jsonb NOT NULL DEFAULT '{}';
ALTER TABLE text_vectors ALTER COLUMN embedding TYPE any_vector;

-- An owner that is no superuser sees no row while its own policies bind it.
ALTER TABLE chat_sessions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_messages NO FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_message_vectors NO FORCE ROW LEVEL SECURITY;
UPDATE chat_message_vectors AS v SET user_name = s.user_name, role = m.role, metadata = s.metadata || m.metadata
FROM chat_sessions AS s
JOIN chat_messages AS m USING (collection, session_id)
WHERE v.collection = s.collection AND v.session_id = s.session_id AND v.message_key = m.message_key
    AND (s.user_name IS NOT NULL OR m.role IS NOT NULL OR s.metadata || m.metadata <> '{}');

CREATE INDEX chat_message_vectors_text ON chat_message_vectors (collection, text_id) WHERE text_id IS NOT NULL;
CREATE INDEX chat_message_vectors_metadata ON chat_message_vectors USING gin (metadata jsonb_path_ops);
CREATE INDEX chat_message_vectors_user ON chat_message_vectors (collection, user_name, model);
CREATE INDEX chat_sessions_metadata ON chat_sessions USING gin (metadata jsonb_path_ops);

-- What an index of near vectors led to in all collections together is searched by one of its own in each large one:
-- `postgres/near.py` has the names, and makes the index once a collection is large.
DO $$
DECLARE
    large record;
BEGIN
    FOR large IN
        SELECT collection, model FROM chat_message_vectors WHERE embedding IS NOT NULL
        GROUP BY collection, model HAVING count(*) > 10000
    LOOP
        EXECUTE format(
            'CREATE INDEX %I ON chat_message_vectors USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops)'
                ' WITH (m = 24, ef_construction = 128)'
                ' WHERE collection = %L AND model = %L AND embedding IS NOT NULL',
            'chat_message_vectors_near_' || left(md5(large.collection || E'\n' || large.model), 16),
            large.collection, large.model
        );
    END LOOP;
END $$;
ALTER TABLE chat_sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_messages FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_message_vectors FORCE ROW LEVEL SECURITY;
