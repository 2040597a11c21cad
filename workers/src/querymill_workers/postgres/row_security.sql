-- wall_tables: tables, whether they have a column for the collection, and what stands of the wall; policies that let others in are theirs
SELECT
    c.relname::text,
    bool_or(a.attname = 'collection'),
    c.relrowsecurity,
    c.relforcerowsecurity,
    ARRAY(
        SELECT polname::text FROM pg_policy
        WHERE polrelid = c.oid AND polpermissive AND polroles && ARRAY[0, r.oid, current_user::regrole::oid]
    ),
    has_table_privilege(r.oid, c.oid, 'SELECT') AND has_table_privilege(r.oid, c.oid, 'INSERT')
        AND has_table_privilege(r.oid, c.oid, 'UPDATE') AND has_table_privilege(r.oid, c.oid, 'DELETE'),
    pg_get_userbyid(c.relowner)::text,
    pg_has_role(current_user, c.relowner, 'USAGE') AND NOT coalesce(pg_has_role(r.oid, c.relowner, 'MEMBER'), false)
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_roles AS r ON r.rolname = %(role)s
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = to_regnamespace(current_schema()) AND c.relname = ANY(%(tables)s)
GROUP BY c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity, c.relowner, r.oid
ORDER BY c.relname;

-- wall_functions: functions of migrations and of triggers on tables, whether they take on the rights of their owner, and
-- whether names in them are looked up in the same schemas for every caller
SELECT
    p.oid::regprocedure::text,
    p.prosecdef,
    p.prosqlbody IS NOT NULL OR EXISTS (SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%%')
FROM pg_proc AS p
WHERE (p.pronamespace = to_regnamespace(current_schema()) AND p.proname = ANY(%(functions)s)) OR p.oid IN (
    SELECT t.tgfoid FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND c.relnamespace = to_regnamespace(current_schema()) AND c.relname = ANY(%(tables)s)
)
ORDER BY 1;

-- wall_role: who asks and where, and of the role: its name, whether it may see all rows, be taken on, use the schema
SELECT
    current_user::text,
    current_schema()::text,
    r.rolname::text,
    r.rolsuper OR r.rolbypassrls,
    pg_has_role(current_user, r.oid, %(right)s),
    has_schema_privilege(r.oid, current_schema(), 'USAGE')
FROM (SELECT) AS one LEFT JOIN pg_roles AS r ON r.rolname = %(role)s;

-- has_pgvector: whether pgvector is installed in this database
SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector');

-- has_guard: whether the list of migrations refuses who is not the owner of the tables
SELECT EXISTS (SELECT FROM pg_policy WHERE polrelid = to_regclass('schema_migrations') AND polname = 'whole_dump');

-- make_guard: a dump by a role from which the walls hide every row fails at this table; they do not apply to it for the owner
ALTER TABLE schema_migrations ENABLE ROW LEVEL SECURITY;
CREATE POLICY whole_dump ON schema_migrations USING (refuse_to_hide_rows());
