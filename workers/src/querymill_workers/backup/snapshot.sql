-- hold_modules: wait for the writers of code documents at work, and keep others out until the transaction ends
SELECT pg_advisory_xact_lock(hashtextextended('versions/modules', 0));

-- hold_limit: end the transaction once it has been silent for this long
SELECT set_config('idle_in_transaction_session_timeout', %(limit)s, true);

-- unhurried: no time limit holds in this transaction
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout');

-- across: see the rows of all collections
SELECT set_config('querymill.across', 'on', true);

-- export: a name by which other sessions see what this transaction sees, and when that was
SELECT pg_export_snapshot(), now();

-- tables: the tables of the schema
SELECT c.relname::text, format('%%I.%%I', n.nspname, c.relname)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname = current_schema() ORDER BY 1;

-- migrations: which migrations the database has
SELECT name FROM schema_migrations ORDER BY number;

-- dropped_since: whether anything was forgotten by a job that was accepted since
SELECT EXISTS (SELECT FROM document_versions WHERE dropped_us >= %(us)s)
    OR EXISTS (SELECT FROM tombstones WHERE forgotten_us >= %(us)s);
