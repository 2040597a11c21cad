-- The life of messages: the model that a collection is searched by, who will embed a session, whose texts a context holds;
-- and words that a new tokeniser makes beside the old ones.

-- Vectors of another model are made beside those of this one, until they are complete. No row-level security: a worker
-- that starts reads which collections there are.
CREATE TABLE chat_models (
    collection text PRIMARY KEY,
    model      text COLLATE "C" NOT NULL
);

-- The embedding that was asked for and has not begun: whoever comes meanwhile leaves the session to it.
ALTER TABLE chat_sessions ADD COLUMN waiting text;
-- The ids of the messages whose texts a context holds; null in a message's own row.
ALTER TABLE chat_message_vectors ADD COLUMN around text[];

-- An owner that is no superuser sees no row while its own policies bind it.
ALTER TABLE chat_messages NO FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_message_vectors NO FORCE ROW LEVEL SECURITY;
INSERT INTO chat_models
SELECT DISTINCT ON (collection) collection, model FROM chat_message_vectors
GROUP BY collection, model ORDER BY collection, count(embedding) DESC, model;
UPDATE chat_message_vectors AS v SET around = array_remove(near.ids, NULL)
FROM (
    SELECT collection, session_id, message_key, array_agg(message_id) OVER (
        PARTITION BY collection, session_id ORDER BY number ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING
    ) AS ids
    FROM chat_messages WHERE content ~ '\S'
) AS near
WHERE v.vector_type = 'context' AND v.collection = near.collection AND v.session_id = near.session_id
    AND v.message_key = near.message_key;
ALTER TABLE chat_messages FORCE ROW LEVEL SECURITY;
ALTER TABLE chat_message_vectors FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON chat_models TO querymill_messages;

-- A space in the words of one tokeniser; it is searched once it is whole.
ALTER TABLE word_spaces DROP CONSTRAINT word_spaces_collection_space_key;
ALTER TABLE word_spaces ADD CONSTRAINT word_spaces_made UNIQUE (collection, space, version);
ALTER TABLE word_spaces ADD COLUMN whole boolean NOT NULL DEFAULT true;
