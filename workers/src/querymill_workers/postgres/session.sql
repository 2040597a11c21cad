-- unhurried: let what follows in this transaction take the time it needs
SET LOCAL statement_timeout = 0;

-- hurried: give up again what takes longer than a statement of this connection may
SET LOCAL statement_timeout TO DEFAULT;

-- as_reader: become the plain role that row-level security binds, for one collection, until the transaction ends
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_messages', true);
