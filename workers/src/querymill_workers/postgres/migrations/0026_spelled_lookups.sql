-- Filters that were checked row by row: prefixes and ranges of fields, roles of conversations, and what single messages lack.

-- Prefixes and ranges compare with the collation "C", so an index of another one does not serve them. Equality is the same in both.
DROP INDEX reports_company, reports_period, reports_title, chat_sessions_user, chat_message_vectors_user,
    chat_message_vectors_role, chat_messages_role, conversations_user, code_files_known_language;
CREATE INDEX reports_company ON reports (collection, company COLLATE "C");
CREATE INDEX reports_period ON reports (collection, period COLLATE "C");
CREATE INDEX reports_title ON reports (collection, title COLLATE "C");
CREATE INDEX chat_sessions_user ON chat_sessions (collection, user_name COLLATE "C");
CREATE INDEX chat_sessions_spelled ON chat_sessions (collection, session_id COLLATE "C");
CREATE INDEX chat_message_vectors_user ON chat_message_vectors (collection, user_name COLLATE "C", model);
CREATE INDEX chat_message_vectors_role ON chat_message_vectors (collection, role COLLATE "C");
CREATE INDEX chat_messages_role ON chat_messages (collection, role COLLATE "C", session_id);
CREATE INDEX conversations_user ON conversations (collection, user_name COLLATE "C");
CREATE INDEX code_files_known_language ON code_files (collection, (nullif(language, '')) COLLATE "C");  -- as the filter writes it

-- Nor does ANALYZE keep samples of names and of bytes (0025): of these columns the planner's defaults are good enough, as a
-- filter compares them with the help of an index. Ids stay sampled, because statements join by them. A drop takes their samples
-- again. Rows of the last two tables go later than the drop, and are found by their keys alone.
DO $$
DECLARE
    names record;
BEGIN
    FOR names IN
        SELECT * FROM (VALUES
            ('chat_sessions', 'user_name'), ('chat_message_vectors', 'user_name'), ('conversations', 'user_name'),
            ('reports', 'title'), ('reports', 'company'), ('reports', 'tickers'), ('metadata_values', 'text'),
            ('word_blocks', 'postings'), ('word_runs', 'entries'), ('word_runs', 'words'), ('word_runs', 'tfs'),
            ('conversation_changes', 'session_id'), ('word_ranges', 'grp')
        ) AS columns (name, sampled)
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', names.name, names.sampled);
        IF to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL THEN
            PERFORM pg_clear_attribute_stats(current_schema()::text, names.name, names.sampled, false);
        END IF;
    END LOOP;
END $$;

-- The names that a message has, as one number: messages of a collection have few different sets of names.
ALTER TABLE chat_messages ADD COLUMN fields bigint GENERATED ALWAYS AS (
    -- Most have none, and the function costs more than the row.
    CASE WHEN metadata = '{}' THEN jsonb_hash_extended('[]', 0) ELSE metadata_fields(metadata) END
) STORED;
CREATE INDEX chat_messages_fields ON chat_messages (collection, fields, session_id);

-- session_entries: as before, with the roles as texts. The empty one stands for a session in which no role is known.
DROP FUNCTION session_entries(timestamptz[], text[]);
CREATE FUNCTION session_entries(
    times timestamptz[], roles text[], OUT kind text, OUT value bigint, OUT field bigint, OUT text text
)
RETURNS SETOF record LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    SELECT DISTINCT 'conversations days', floor(extract(epoch FROM moment) / 86400)::bigint, NULL::bigint, NULL
    FROM unnest(times) AS moment
    UNION
    SELECT 'conversations roles', hashtextextended(role COLLATE "C", 0), 0, left(role, 64)
    FROM unnest(CASE WHEN array_remove(roles, NULL) = '{}' THEN ARRAY[''] ELSE roles END) AS role WHERE role IS NOT NULL;
END;

-- note_session: as before, with the roles as texts
CREATE OR REPLACE FUNCTION note_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO metadata_values (collection, kind, value, document, part, field, text)
        SELECT collection, entry.kind, entry.value, session_id, '', entry.field, entry.text
        FROM added, session_entries(times, roles) AS entry
        ON CONFLICT DO NOTHING;
    ELSIF TG_OP = 'DELETE' THEN
        DELETE FROM metadata_values AS noted USING dropped, LATERAL session_entries(times, roles) AS entry
        WHERE noted.collection = dropped.collection AND noted.kind = entry.kind AND noted.value = entry.value
            AND noted.document = dropped.session_id;
    ELSIF NEW.roles @> OLD.roles AND NEW.times[:cardinality(OLD.times)] = OLD.times
        AND (array_remove(NEW.roles, NULL) = '{}') = (array_remove(OLD.roles, NULL) = '{}')
    THEN
        -- A live chat, however long it is: only what came is looked at.
        INSERT INTO metadata_values (collection, kind, value, document, part, field, text)
        SELECT NEW.collection, entry.kind, entry.value, NEW.session_id, '', entry.field, entry.text
        FROM session_entries(NEW.times[cardinality(OLD.times) + 1:], NEW.roles) AS entry
        ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM metadata_values AS noted
        USING (
            SELECT * FROM session_entries(OLD.times, OLD.roles) EXCEPT SELECT * FROM session_entries(NEW.times, NEW.roles)
        ) AS entry
        WHERE noted.collection = OLD.collection AND noted.kind = entry.kind AND noted.value = entry.value
            AND noted.document = OLD.session_id;
        INSERT INTO metadata_values (collection, kind, value, document, part, field, text)
        SELECT NEW.collection, entry.kind, entry.value, NEW.session_id, '', entry.field, entry.text
        FROM (
            SELECT * FROM session_entries(NEW.times, NEW.roles) EXCEPT SELECT * FROM session_entries(OLD.times, OLD.roles)
        ) AS entry
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION note_session() SET search_path = pg_catalog, %I, pg_temp', current_schema());
END $$;
DELETE FROM metadata_values WHERE kind = 'conversations roles';
INSERT INTO metadata_values (collection, kind, value, document, part, field, text)
SELECT collection, entry.kind, entry.value, session_id, '', entry.field, entry.text
FROM conversations, session_entries(times[:0], roles) AS entry
ON CONFLICT DO NOTHING;
