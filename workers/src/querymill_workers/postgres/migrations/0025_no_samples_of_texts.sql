-- ANALYZE keeps samples of a column's values, and what was forgotten stays among them until the next one. Nothing compares
-- the columns below, so the planner needs to know nothing of them. What it knows by now goes on PostgreSQL 18 and newer;
-- before, only an administrator can take it away (deploy/README.md).
DO $$
DECLARE
    texts record;
BEGIN
    FOR texts IN
        SELECT * FROM (VALUES
            ('chat_messages', 'content'), ('chat_messages', 'metadata'), ('chat_message_vectors', 'content'),
            ('chat_message_vectors', 'metadata'), ('chat_sessions', 'name'), ('chat_sessions', 'metadata'),
            ('conversations', 'document'), ('conversations', 'metadata'), ('conversations', 'name'), ('conversations', 'said'),
            ('conversations', 'sketch'), ('conversation_messages', 'message'), ('conversation_passages', 'text'),
            ('conversation_passages', 'message'),
            ('reports', 'metadata'), ('reports', 'aliases'), ('report_pages', 'text'), ('report_passages', 'text'),
            ('code_files', 'content'), ('code_files', 'metadata'), ('code_chunks', 'text'), ('module_passages', 'text'),
            ('set_aside', 'reason'), ('tombstones', 'scope'), ('word_runs', 'ids'), ('word_runs', 'groups')
        ) AS columns (name, sampled)
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', texts.name, texts.sampled);
        IF to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL THEN
            PERFORM pg_clear_attribute_stats(current_schema()::text, texts.name, texts.sampled, false);
        END IF;
    END LOOP;
END $$;
