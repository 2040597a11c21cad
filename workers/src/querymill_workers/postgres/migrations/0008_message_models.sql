-- Rows of other models are counted for each search: with the model in the index none of a session's own is looked at.
CREATE INDEX chat_message_vectors_models ON chat_message_vectors (collection, session_id, model);
DROP INDEX chat_message_vectors_session;
