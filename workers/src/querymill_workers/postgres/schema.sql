-- What the tables of every room use.

-- A vector of any dimension: the embedding model may change, and several models may share a table.
CREATE DOMAIN any_vector AS vector;

-- refuse_to_hide_rows: raise where a policy would hide every row from a session that does not expect it
CREATE FUNCTION refuse_to_hide_rows() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE insufficient_privilege USING
        MESSAGE = 'row-level security would hide all rows of this table from this session without a word',
        HINT = 'To dump all rows as the owner of the tables: PGOPTIONS=''-c querymill.across=on'' pg_dump --enable-row-security;'
            ' to read them: SET querymill.across = on. A superuser or a role with BYPASSRLS needs neither.';
END $$;
