-- Filters that were checked row by row: that a field of metadata is absent, the role of messages, and times of sessions.

-- metadata_fields: the names that are not absent, as one number. Documents of one collection have few different sets of names:
-- they are found one after the other in the index, and a document of each tells whether it lacks a field.
CREATE FUNCTION metadata_fields(metadata jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_hash_extended(coalesce(jsonb_agg(key ORDER BY key COLLATE "C"), '[]'), 0)
    FROM jsonb_each(metadata) AS named (key, found) WHERE found <> 'null'
);

-- session_entries: the days (UTC) on which a session has a message, counted from 1970, and its roles, as they are looked up
CREATE FUNCTION session_entries(times timestamptz[], roles text[], OUT kind text, OUT value bigint)
RETURNS SETOF record LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    SELECT DISTINCT 'conversations days', floor(extract(epoch FROM moment) / 86400)::bigint FROM unnest(times) AS moment
    UNION
    SELECT 'conversations roles', hashtextextended(role COLLATE "C", 0) FROM unnest(roles) AS role WHERE role IS NOT NULL;
END;

-- earliest: the first of some moments
CREATE FUNCTION earliest(times timestamptz[]) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT min(moment) FROM unnest(times) AS moment);

-- note_fields: keep the set of names of each document. The argument of a trigger names the column of the document.
CREATE FUNCTION note_fields() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        EXECUTE format(
            'INSERT INTO metadata_values (collection, kind, value, document, part)'
                ' SELECT collection, %L, metadata_fields(metadata), %I, '''' FROM added ON CONFLICT DO NOTHING',
            TG_TABLE_NAME || ' fields', TG_ARGV[0]
        );
    ELSIF TG_OP = 'DELETE' THEN
        EXECUTE format(
            'DELETE FROM metadata_values AS noted USING dropped WHERE noted.collection = dropped.collection'
                ' AND noted.kind = %L AND noted.value = metadata_fields(dropped.metadata) AND noted.document = dropped.%I',
            TG_TABLE_NAME || ' fields', TG_ARGV[0]
        );
    ELSE
        EXECUTE format(
            'UPDATE metadata_values SET value = metadata_fields($2.metadata) WHERE collection = $1.collection'
                ' AND kind = %L AND value = metadata_fields($1.metadata) AND document = $1.%I',
            TG_TABLE_NAME || ' fields', TG_ARGV[0]
        ) USING OLD, NEW;
    END IF;
    RETURN NULL;
END $$;

-- note_session: keep the days and roles of conversations
CREATE FUNCTION note_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO metadata_values (collection, kind, value, document, part)
        SELECT collection, entry.kind, entry.value, session_id, '' FROM added, session_entries(times, roles) AS entry
        ON CONFLICT DO NOTHING;
    ELSIF TG_OP = 'DELETE' THEN
        DELETE FROM metadata_values AS noted USING dropped, LATERAL session_entries(times, roles) AS entry
        WHERE noted.collection = dropped.collection AND noted.kind = entry.kind AND noted.value = entry.value
            AND noted.document = dropped.session_id;
    ELSIF NEW.roles @> OLD.roles AND NEW.times[:cardinality(OLD.times)] = OLD.times THEN
        -- A live chat, however long it is: only what came is looked at.
        INSERT INTO metadata_values (collection, kind, value, document, part)
        SELECT NEW.collection, entry.kind, entry.value, NEW.session_id, ''
        FROM session_entries(NEW.times[cardinality(OLD.times) + 1:], NEW.roles) AS entry
        ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM metadata_values AS noted
        USING (
            SELECT * FROM session_entries(OLD.times, OLD.roles) EXCEPT SELECT * FROM session_entries(NEW.times, NEW.roles)
        ) AS entry
        WHERE noted.collection = OLD.collection AND noted.kind = entry.kind AND noted.value = entry.value
            AND noted.document = OLD.session_id;
        INSERT INTO metadata_values (collection, kind, value, document, part)
        SELECT NEW.collection, entry.kind, entry.value, NEW.session_id, ''
        FROM (
            SELECT * FROM session_entries(NEW.times, NEW.roles) EXCEPT SELECT * FROM session_entries(OLD.times, OLD.roles)
        ) AS entry
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;

-- drop_metadata: as before, with what is kept beside the values
CREATE OR REPLACE FUNCTION drop_metadata() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text := current_setting('querymill.across', true);
BEGIN
    PERFORM set_config('querymill.across', 'on', true);
    DELETE FROM metadata_values
    WHERE kind = ANY(ARRAY[TG_TABLE_NAME, TG_TABLE_NAME || ' fields', TG_TABLE_NAME || ' days', TG_TABLE_NAME || ' roles']);
    PERFORM set_config('querymill.across', coalesce(before, ''), true);
    RETURN NULL;
END $$;

DO $$
DECLARE
    named text;
    noted record;
BEGIN
    -- Whoever calls them, names in them are looked up in the schema of the tables.
    FOREACH named IN ARRAY ARRAY['note_fields()', 'note_session()', 'drop_metadata()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', named, current_schema());
    END LOOP;
    FOR noted IN
        SELECT * FROM (VALUES
            ('reports', 'sha1'), ('chat_sessions', 'session_id'), ('conversations', 'session_id'), ('code_files', 'path')
        ) AS tables (name, document)
    LOOP
        EXECUTE format(
            'CREATE TRIGGER fields_added AFTER INSERT ON %I REFERENCING NEW TABLE AS added'
                ' FOR EACH STATEMENT EXECUTE FUNCTION note_fields(%s)',
            noted.name, noted.document
        );
        EXECUTE format(
            'CREATE TRIGGER fields_dropped AFTER DELETE ON %I REFERENCING OLD TABLE AS dropped'
                ' FOR EACH STATEMENT EXECUTE FUNCTION note_fields(%s)',
            noted.name, noted.document
        );
        EXECUTE format(
            'CREATE TRIGGER fields_changed AFTER UPDATE OF metadata ON %I FOR EACH ROW'
                ' WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata) EXECUTE FUNCTION note_fields(%s)',
            noted.name, noted.document
        );
        EXECUTE format(
            'INSERT INTO metadata_values (collection, kind, value, document, part)'
                ' SELECT collection, %L, metadata_fields(metadata), %I, '''' FROM %I ON CONFLICT DO NOTHING',
            noted.name || ' fields', noted.document, noted.name
        );
    END LOOP;
END $$;
CREATE TRIGGER session_added AFTER INSERT ON conversations REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_session();
CREATE TRIGGER session_dropped AFTER DELETE ON conversations REFERENCING OLD TABLE AS dropped
    FOR EACH STATEMENT EXECUTE FUNCTION note_session();
CREATE TRIGGER session_changed AFTER UPDATE OF times, roles ON conversations FOR EACH ROW
    WHEN (OLD.times IS DISTINCT FROM NEW.times OR OLD.roles IS DISTINCT FROM NEW.roles)
    EXECUTE FUNCTION note_session();
INSERT INTO metadata_values (collection, kind, value, document, part)
SELECT collection, entry.kind, entry.value, session_id, '' FROM conversations, session_entries(times, roles) AS entry
ON CONFLICT DO NOTHING;

-- No message is earlier: the end of a range is compared with it, as its beginning is with last_active.
ALTER TABLE conversations ADD COLUMN first_active timestamptz GENERATED ALWAYS AS (earliest(times)) STORED;
CREATE INDEX conversations_first_active ON conversations (collection, first_active);

CREATE INDEX chat_message_vectors_role ON chat_message_vectors (collection, role);
CREATE INDEX chat_messages_role ON chat_messages (collection, role, session_id);
