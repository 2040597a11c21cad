"""The samples that ANALYZE keeps of a table hold no text of a document."""

from typing import Final

import psycopg

#: Columns of walled tables that hold texts of documents, or what users say of them, by type or by name.
TEXTS: Final = """
SELECT c.relname || '.' || attname FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = attrelid
WHERE relkind = 'r' AND relrowsecurity AND attnum > 0 AND NOT attisdropped AND attstattarget IS DISTINCT FROM 0
    AND (
        atttypid IN ('json'::regtype, 'jsonb'::regtype)
        OR attname IN (
            'content', 'text', 'message', 'reason', 'aliases', 'name', 'user_name', 'title', 'company', 'tickers'
        )
    )
ORDER BY 1
"""
#: What indexes of walled tables compute: ANALYZE samples it like a column.
#: A programming language is no text of anybody.
COMPUTED: Final = """
SELECT i.relname || ': ' || pg_get_indexdef(i.oid, attnum, true) FROM pg_index
JOIN pg_class AS c ON c.oid = indrelid JOIN pg_class AS i ON i.oid = indexrelid
JOIN pg_attribute ON attrelid = i.oid
WHERE c.relrowsecurity AND indkey[attnum - 1] = 0 AND attstattarget IS DISTINCT FROM 0
    AND i.relname <> 'code_files_known_language'
ORDER BY 1
"""
#: Statements join by them. A drop by filter takes their samples again, and those of ids.
SAMPLED: Final = ["code_symbols.name", "word_groups.name"]


def test_no_column_of_texts_is_sampled(database_url: str) -> None:
    """A new column of texts fails here until a migration sets its statistics to 0, or it is named above."""
    with psycopg.connect(database_url) as connection:
        assert [column for (column,) in connection.execute(TEXTS)] == SAMPLED


def test_nothing_that_an_index_computes_is_sampled(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        assert [computed for (computed,) in connection.execute(COMPUTED)] == []
