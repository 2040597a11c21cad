-- statement_limit: change the time limit of statements until the transaction ends
SELECT set_config('statement_timeout', %(limit)s, true);

-- transaction_limit: change the time limit of the current transaction; a limit that runs is only replaced by way of 0
SELECT set_config('transaction_timeout', '0', true), set_config('transaction_timeout', %(limit)s, true);

-- lock_limit: change the time limit of waiting for a lock until the transaction ends
SELECT set_config('lock_timeout', %(limit)s, true);

-- silence_limit: change how long the transaction may be silent
SELECT set_config('idle_in_transaction_session_timeout', %(limit)s, true);

-- as_reader: switch to the role that row-level security limits to one collection, until the transaction ends
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_reader', true);

-- safe_path: the schema of the tables and that of pgvector, where names are looked up; a temporary table hides none of them
SELECT concat_ws(', ', quote_ident(current_schema()), (
    SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
    WHERE extname = 'vector' AND nspname <> current_schema()
), 'pg_temp');

-- keep_in_session: change settings for the session if it is this client's alone, else change none and return no row
SELECT set_config(name, value, false) FROM unnest(%(names)s::text[], %(values)s::text[]) AS kept (name, value)
WHERE pg_backend_pid() = %(pid)s;

-- keep_in_transaction: change settings until the transaction ends
SELECT set_config(name, value, true) FROM unnest(%(names)s::text[], %(values)s::text[]) AS kept (name, value);

-- in_force: the values of settings, of times in milliseconds
SELECT name, coalesce(setting, current_setting(name, true))
FROM unnest(%(names)s::text[]) AS kept (name) LEFT JOIN pg_settings USING (name);

-- across: let the owner see the rows of all collections, or no longer
SELECT set_config('querymill.across', %(state)s, true);
