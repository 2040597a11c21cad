-- own_tables: the tables of ours that the schema has
SELECT c.relname::text FROM pg_class AS c
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = to_regnamespace(current_schema()) AND c.relname = ANY(%(tables)s)
ORDER BY 1;

-- own_rest: the functions, sequences and domains of ours that the schema has, as the statements that drop them
SELECT format('DROP FUNCTION %%s CASCADE', oid::regprocedure) FROM pg_proc
WHERE pronamespace = to_regnamespace(current_schema()) AND proname = ANY(%(functions)s)
UNION ALL
SELECT format('DROP SEQUENCE %%s CASCADE', oid::regclass) FROM pg_class
WHERE relkind = 'S' AND relnamespace = to_regnamespace(current_schema()) AND relname = ANY(%(sequences)s)
UNION ALL
SELECT format('DROP DOMAIN %%s CASCADE', oid::regtype) FROM pg_type
WHERE typtype = 'd' AND typnamespace = to_regnamespace(current_schema()) AND typname = ANY(%(domains)s);
