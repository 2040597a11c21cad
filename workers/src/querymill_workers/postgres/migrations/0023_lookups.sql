-- TRUNCATE fires no trigger for rows. What is looked up of a table, and what hangs on an index of words, goes with it.

-- drop_metadata: remove the values of a table that was emptied, of all collections, as TRUNCATE goes over all
CREATE FUNCTION drop_metadata() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text := current_setting('querymill.across', true);
BEGIN
    PERFORM set_config('querymill.across', 'on', true);
    DELETE FROM metadata_values WHERE kind = TG_TABLE_NAME;
    PERFORM set_config('querymill.across', coalesce(before, ''), true);
    RETURN NULL;
END $$;

-- empty_words: empty the tables whose rows name an index by its number, which may be given again
CREATE FUNCTION empty_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE word_entries, word_runs, word_tail, word_ranges, word_blocks;
    RETURN NULL;
END $$;

DO $$
DECLARE
    noted name;
BEGIN
    -- Whoever calls them, names in them are looked up in the schema of the tables.
    EXECUTE format('ALTER FUNCTION drop_metadata() SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION empty_words() SET search_path = pg_catalog, %I, pg_temp', current_schema());
    FOREACH noted IN ARRAY ARRAY['reports', 'chat_sessions', 'chat_messages', 'conversations', 'code_files'] LOOP
        EXECUTE format(
            'CREATE TRIGGER metadata_truncated AFTER TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION drop_metadata()', noted
        );
    END LOOP;
END $$;
CREATE TRIGGER words_truncated AFTER TRUNCATE ON word_indexes FOR EACH STATEMENT EXECUTE FUNCTION empty_words();

-- The document that a caller says a text is a part of: the vector goes with it.
ALTER TABLE text_vectors ADD COLUMN document text;
CREATE INDEX text_vectors_document ON text_vectors (collection, document) WHERE document IS NOT NULL;
CREATE INDEX text_vectors_content ON text_vectors (collection, content_hash);

-- Ranges and prefixes of metadata are looked up, too. Behind the wall an index serves =, <, > of texts and of numbers, but
-- of no jsonb and no numeric. So beside its hash a value has the hash of its field, and what it sorts by, shortened or
-- rounded: what is looked up is at least what a condition means.
ALTER TABLE metadata_values
    ADD COLUMN field  bigint,
    ADD COLUMN number double precision,
    ADD COLUMN text   text COLLATE "C";

-- metadata_number: a number as it is looked up. Those that double precision does not have become the nearest that it has.
CREATE FUNCTION metadata_number(value jsonb) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN abs(value::numeric) < 1e-300 THEN 0
    ELSE greatest(least(value::numeric, 1e300), -1e300)::double precision
END;

-- metadata_entries: the values of metadata, as they are looked up
CREATE FUNCTION metadata_entries(metadata jsonb, OUT value bigint, OUT field bigint, OUT number double precision, OUT text text)
RETURNS SETOF record LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT jsonb_hash_extended(jsonb_build_object(key, single), 0), hashtextextended(key COLLATE "C", 0),
        CASE jsonb_typeof(single) WHEN 'number' THEN metadata_number(single) END,
        CASE jsonb_typeof(single) WHEN 'string' THEN left(single #>> '{}', 64) END
    FROM jsonb_each(metadata) AS named (key, found)
    CROSS JOIN LATERAL (
        SELECT found AS single
        UNION ALL
        SELECT element FROM jsonb_array_elements(CASE jsonb_typeof(found) WHEN 'array' THEN found ELSE '[]' END) AS element
    ) AS singles
    WHERE jsonb_typeof(single) NOT IN ('array', 'object');
END;

-- note_metadata: as before, with what values sort by
CREATE OR REPLACE FUNCTION note_metadata() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    part text := CASE WHEN TG_NARGS > 1 THEN format('%I', TG_ARGV[1]) ELSE '''''' END;
    own_part text := CASE WHEN TG_NARGS > 1 THEN '$1.' ELSE '' END || part;
    dropped_part text := CASE WHEN TG_NARGS > 1 THEN 'dropped.' ELSE '' END || part;
    columns text := 'collection, kind, value, document, part, field, number, text';
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF EXISTS (SELECT FROM added WHERE metadata <> '{}') THEN
            EXECUTE format(
                'INSERT INTO metadata_values (%s)'
                    ' SELECT added.collection, %L, entry.value, added.%I, %s, entry.field, entry.number, entry.text'
                    ' FROM added, metadata_entries(added.metadata) AS entry'
                    ' WHERE added.metadata <> ''{}'' ON CONFLICT DO NOTHING',
                columns, TG_TABLE_NAME, TG_ARGV[0], part
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
                TG_TABLE_NAME, TG_ARGV[0], dropped_part
            );
        END IF;
    ELSE
        EXECUTE format(
            'DELETE FROM metadata_values WHERE collection = $1.collection AND kind = %L AND document = $1.%I'
                ' AND part = %s AND value = ANY(ARRAY(SELECT metadata_hashes($1.metadata)))',
            TG_TABLE_NAME, TG_ARGV[0], own_part
        ) USING OLD;
        EXECUTE format(
            'INSERT INTO metadata_values (%s)'
                ' SELECT $1.collection, %L, entry.value, $1.%I, %s, entry.field, entry.number, entry.text'
                ' FROM metadata_entries($1.metadata) AS entry ON CONFLICT DO NOTHING',
            columns, TG_TABLE_NAME, TG_ARGV[0], own_part
        ) USING NEW;
    END IF;
    RETURN NULL;
END $$;

DO $$
DECLARE
    noted record;
BEGIN
    EXECUTE format('ALTER FUNCTION note_metadata() SET search_path = pg_catalog, %I, pg_temp', current_schema());
    -- The triggers above hold off those who write these tables, until all of this is there.
    TRUNCATE metadata_values;
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
            'INSERT INTO metadata_values (collection, kind, value, document, part, field, number, text)'
                ' SELECT own.collection, %L, entry.value, own.%I, %s, entry.field, entry.number, entry.text'
                ' FROM %I AS own, metadata_entries(own.metadata) AS entry ON CONFLICT DO NOTHING',
            noted.name, noted.document, coalesce('own.' || quote_ident(noted.part), ''''''), noted.name
        );
    END LOOP;
END $$;
CREATE INDEX metadata_values_number ON metadata_values (collection, kind, field, number, document) WHERE number IS NOT NULL;
CREATE INDEX metadata_values_text ON metadata_values (collection, kind, field, text, document) WHERE text IS NOT NULL;

-- Fields that a filter names, and that were checked row by row.
CREATE INDEX reports_company ON reports (collection, company);
CREATE INDEX reports_period ON reports (collection, period);
CREATE INDEX reports_title ON reports (collection, title);
CREATE INDEX reports_published_at ON reports (collection, published_at);
CREATE INDEX chat_sessions_user ON chat_sessions (collection, user_name);
CREATE INDEX chat_sessions_started_at ON chat_sessions (collection, started_at);
CREATE INDEX chat_message_vectors_time ON chat_message_vectors (collection, created_at);
CREATE INDEX code_files_known_language ON code_files (collection, nullif(language, ''));  -- as the filter writes it
DROP INDEX code_files_language;
