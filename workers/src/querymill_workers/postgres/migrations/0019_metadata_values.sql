-- What filters look up: the values of metadata, as hashes, in a B-tree that begins with the collection.
-- Row-level security checks a row's collection before any operator that might tell of the row. Whether one jsonb contains
-- another might, so behind the wall no index of jsonb is ever used; equality of texts and numbers may go first.

-- kind: the table of the row. part: the message within a session, or empty. Rows come and go with those that they are of.
CREATE TABLE metadata_values (
    collection text   COLLATE "C" NOT NULL,
    kind       text   COLLATE "C" NOT NULL,
    value      bigint NOT NULL,             -- the hash of a field with its value, or with one element of a list
    document   text   NOT NULL,
    part       text   NOT NULL,
    PRIMARY KEY (collection, kind, value, document, part)
);

-- metadata_hashes: the fields with their values, as they are looked up. Numbers that are equal have one hash.
CREATE FUNCTION metadata_hashes(metadata jsonb) RETURNS SETOF bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT jsonb_hash_extended(jsonb_build_object(key, single), 0)
    FROM jsonb_each(metadata) AS field (key, found)
    CROSS JOIN LATERAL (
        SELECT found AS single
        UNION ALL
        SELECT element FROM jsonb_array_elements(CASE jsonb_typeof(found) WHEN 'array' THEN found ELSE '[]' END) AS element
    ) AS singles
    WHERE jsonb_typeof(single) NOT IN ('array', 'object');
END;

-- note_metadata: store or remove the values of rows that a statement added or dropped. The arguments of a trigger name the
-- columns of the document and of the part. It runs with the rights of the statement, so the wall binds it.
CREATE FUNCTION note_metadata() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    part text := CASE WHEN TG_NARGS > 1 THEN format('%I', TG_ARGV[1]) ELSE '''''' END;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF EXISTS (SELECT FROM added WHERE metadata <> '{}') THEN
            EXECUTE format(
                'INSERT INTO metadata_values (collection, kind, value, document, part)'
                    ' SELECT collection, %L, value, %I, %s FROM added, metadata_hashes(metadata) AS value'
                    ' WHERE metadata <> ''{}'' ON CONFLICT DO NOTHING',
                TG_TABLE_NAME, TG_ARGV[0], part
            );
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM dropped WHERE metadata <> '{}') THEN
            EXECUTE format(
                'DELETE FROM metadata_values AS noted USING dropped,'
                    -- Not in FROM: inlined there, it would be thought to return many.
                    ' LATERAL (SELECT metadata_hashes(dropped.metadata) AS value) AS value'
                    ' WHERE dropped.metadata <> ''{}'' AND noted.collection = dropped.collection AND noted.kind = %L'
                    ' AND noted.value = value.value'
                    ' AND noted.document = dropped.%I AND noted.part = %s',
                TG_TABLE_NAME, TG_ARGV[0], CASE WHEN TG_NARGS > 1 THEN 'dropped.' ELSE '' END || part
            );
        END IF;
    ELSE
        EXECUTE format(
            'DELETE FROM metadata_values WHERE collection = $1.collection AND kind = %L AND document = $1.%I'
                ' AND part = %s AND value = ANY(ARRAY(SELECT metadata_hashes($1.metadata)))',
            TG_TABLE_NAME, TG_ARGV[0], CASE WHEN TG_NARGS > 1 THEN '$1.' ELSE '' END || part
        ) USING OLD;
        EXECUTE format(
            'INSERT INTO metadata_values (collection, kind, value, document, part)'
                ' SELECT $1.collection, %L, value, $1.%I, %s FROM metadata_hashes($1.metadata) AS value'
                ' ON CONFLICT DO NOTHING',
            TG_TABLE_NAME, TG_ARGV[0], CASE WHEN TG_NARGS > 1 THEN '$1.' ELSE '' END || part
        ) USING NEW;
    END IF;
    RETURN NULL;
END $$;

DO $$
DECLARE
    noted record;
BEGIN
    -- Whoever calls it, names in it are looked up in the schema of the tables.
    EXECUTE format('ALTER FUNCTION note_metadata() SET search_path = pg_catalog, %I, pg_temp', current_schema());
    FOR noted IN
        SELECT * FROM (VALUES
            ('reports', 'sha1', NULL),
            ('chat_sessions', 'session_id', NULL),
            ('chat_messages', 'session_id', 'message_key'),
            ('conversations', 'session_id', NULL),
            ('code_files', 'path', NULL)
        ) AS tables (name, document, part)
    LOOP
        EXECUTE format(
            'INSERT INTO metadata_values SELECT collection, %L, value, %I, %s FROM %I, metadata_hashes(metadata) AS value',
            noted.name, noted.document, coalesce(quote_ident(noted.part), ''''''), noted.name
        );
        EXECUTE format(
            'CREATE TRIGGER metadata_added AFTER INSERT ON %I REFERENCING NEW TABLE AS added'
                ' FOR EACH STATEMENT EXECUTE FUNCTION note_metadata(%s)',
            noted.name, concat_ws(', ', noted.document, noted.part)
        );
        EXECUTE format(
            'CREATE TRIGGER metadata_dropped AFTER DELETE ON %I REFERENCING OLD TABLE AS dropped'
                ' FOR EACH STATEMENT EXECUTE FUNCTION note_metadata(%s)',
            noted.name, concat_ws(', ', noted.document, noted.part)
        );
        EXECUTE format(
            'CREATE TRIGGER metadata_changed AFTER UPDATE OF metadata ON %I FOR EACH ROW'
                ' WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata) EXECUTE FUNCTION note_metadata(%s)',
            noted.name, concat_ws(', ', noted.document, noted.part)
        );
    END LOOP;
END $$;

DROP INDEX reports_metadata, chat_message_vectors_metadata, chat_sessions_metadata, conversations_metadata,
    code_files_metadata;
