-- What filters look up: the metadata of documents, and of messages within sessions.
-- Row-level security checks a row's collection before any operator that might tell of the row. Whether one jsonb contains
-- another might, so behind the wall no index of jsonb is ever used. Equality and order of texts and of numbers may go first.

-- kind: the table of the row, or that and what is looked up of it (fields, days, roles). part: the message within a session,
-- or empty. Triggers add and drop rows together with the rows that they are of.
CREATE TABLE metadata_values (
    collection text   COLLATE "C" NOT NULL,
    kind       text   COLLATE "C" NOT NULL,
    value      bigint NOT NULL,             -- the hash of a field with its value, or with one element of a list
    document   text   NOT NULL,
    part       text   NOT NULL,
    field      bigint,                      -- the hash of the field's name
    -- What the value sorts by, shortened or rounded: a look-up finds at least what a condition means.
    number     double precision,
    text       text   COLLATE "C",
    PRIMARY KEY (collection, kind, value, document, part)
);
CREATE INDEX metadata_values_number ON metadata_values (collection, kind, field, number, document) WHERE number IS NOT NULL;
CREATE INDEX metadata_values_text ON metadata_values (collection, kind, field, text, document) WHERE text IS NOT NULL;
ALTER TABLE metadata_values ALTER COLUMN text SET STATISTICS 0;

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

-- metadata_number: a number as it is looked up. A number outside double precision becomes the nearest one inside.
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

-- metadata_fields: the names of the fields that are present, as one number. Documents of one collection have few different sets
-- of names: they are found one after the other in the index, and one document of each set tells whether it lacks a field.
CREATE FUNCTION metadata_fields(metadata jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_hash_extended(coalesce(jsonb_agg(key ORDER BY key COLLATE "C"), '[]'), 0)
    FROM jsonb_each(metadata) AS named (key, found) WHERE found <> 'null'
);

-- note_metadata: store or drop the values of rows that a statement added or dropped. The arguments of a trigger name the
-- columns of the document and of the part. It runs with the rights of the statement, so the wall binds it.
CREATE FUNCTION note_metadata() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
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

-- note_fields: keep the set of names of each document. The argument of a trigger names the column of the document.
CREATE FUNCTION note_fields() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
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

-- drop_metadata: drop the look-ups of a table that was emptied, of all collections. TRUNCATE fires no trigger for rows.
CREATE FUNCTION drop_metadata() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    before text := current_setting('querymill.across', true);
BEGIN
    PERFORM set_config('querymill.across', 'on', true);
    DELETE FROM metadata_values
    WHERE kind = ANY(ARRAY[TG_TABLE_NAME, TG_TABLE_NAME || ' fields', TG_TABLE_NAME || ' days', TG_TABLE_NAME || ' roles']);
    PERFORM set_config('querymill.across', coalesce(before, ''), true);
    RETURN NULL;
END $$;

-- look_up: keep the look-ups of a table from now on. The set of names is kept for documents, not for their parts.
CREATE PROCEDURE pg_temp.look_up(name text, document text, part text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    called record;
BEGIN
    FOR called IN
        SELECT 'metadata' AS prefix, format('note_metadata(%s)', concat_ws(', ', document, part)) AS function
        UNION ALL
        SELECT 'fields', format('note_fields(%s)', document) WHERE part IS NULL
    LOOP
        EXECUTE format(
            'CREATE TRIGGER %I AFTER INSERT ON %I REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION %s',
            called.prefix || '_added', name, called.function
        );
        EXECUTE format(
            'CREATE TRIGGER %I AFTER DELETE ON %I REFERENCING OLD TABLE AS dropped FOR EACH STATEMENT EXECUTE FUNCTION %s',
            called.prefix || '_dropped', name, called.function
        );
        EXECUTE format(
            'CREATE TRIGGER %I AFTER UPDATE OF metadata ON %I FOR EACH ROW'
                ' WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata) EXECUTE FUNCTION %s',
            called.prefix || '_changed', name, called.function
        );
    END LOOP;
    EXECUTE format(
        'CREATE TRIGGER metadata_truncated AFTER TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION drop_metadata()', name
    );
END $$;
