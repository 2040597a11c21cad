-- unhurried: lift the time limit of statements until the transaction ends
SET LOCAL statement_timeout = 0;

-- hurried: restore the time limit of statements
SET LOCAL statement_timeout TO DEFAULT;

-- as_reader: switch to the role that row-level security limits to one collection, until the transaction ends
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_messages', true);
