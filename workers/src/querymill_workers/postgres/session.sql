-- statement_limit: change the time limit of statements until the transaction ends
SELECT set_config('statement_timeout', %(limit)s, true);

-- transaction_limit: change the time limit of the current transaction; a limit that runs is only replaced by way of 0
SELECT set_config('transaction_timeout', '0', true), set_config('transaction_timeout', %(limit)s, true);

-- every_transaction_limit: set the time limit of every transaction of a connection
SELECT set_config('transaction_timeout', %(limit)s, false);

-- lock_limit: change the time limit of waiting for a lock until the transaction ends
SELECT set_config('lock_timeout', %(limit)s, true);

-- silence_limit: change how long the transaction may be silent
SELECT set_config('idle_in_transaction_session_timeout', %(limit)s, true);

-- as_reader: switch to the role that row-level security limits to one collection, until the transaction ends
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_messages', true);

-- safe_path: look names up in the schema of the tables and in that of pgvector; a temporary table hides none of them
SELECT set_config('search_path', concat_ws(', ', quote_ident(current_schema()), (
    SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
    WHERE extname = 'vector' AND nspname <> current_schema()
), 'pg_temp'), false);

-- walled: say that this session is of a release whose statements keep to the walls, also as the owner
SELECT set_config('querymill.walled', 'on', false);

-- across: let the owner see the rows of all collections, or no longer
SELECT set_config('querymill.across', %(state)s, true);
