"""The samples that ANALYZE keeps of a table hold no text of a document."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final
from uuid import uuid4

import psycopg
import pytest

from querymill_workers.postgres import planner_statistics
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.postgres.planner_statistics import PostgresSamples
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.versions.postgres import PostgresVersions

#: Columns of walled tables that hold texts of documents, or what users say of them, by type or by name.
TEXTS: Final = """
SELECT c.relname || '.' || attname FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = attrelid
WHERE relkind = 'r' AND relforcerowsecurity AND attnum > 0 AND NOT attisdropped AND attstattarget IS DISTINCT FROM 0
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
WHERE c.relforcerowsecurity AND indkey[attnum - 1] = 0 AND attstattarget IS DISTINCT FROM 0
ORDER BY 1
"""
#: Statements join by them. A drop by filter takes their samples again, and those of ids.
SAMPLED: Final = ["code_symbols.name"]


def test_no_column_of_texts_is_sampled(database_url: str) -> None:
    """A new column of texts fails here until its schema sets its statistics to 0, or it is named above."""
    with psycopg.connect(database_url) as connection:
        assert [column for (column,) in connection.execute(TEXTS)] == SAMPLED


def test_nothing_that_an_index_computes_is_sampled(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        assert [computed for (computed,) in connection.execute(COMPUTED)] == []


@pytest.fixture
def pool(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    monkeypatch.setattr(planner_statistics, "SOON_S", 0.1)
    monkeypatch.setattr(planner_statistics, "REST", 0.0)
    with open_pool(database_url, max_size=4) as opened:
        yield opened


def taken_at(database_url: str) -> datetime:
    """When the samples of a table of ids were last taken."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "SELECT last_analyze FROM pg_stat_user_tables WHERE relname = 'chat_sessions'"
        ).fetchone()
    assert row is not None
    taken: datetime = row[0]
    return taken


def taken_within(database_url: str, before: datetime, *, seconds: float) -> bool:
    """Whether samples are taken again within some time."""
    until = time.monotonic() + seconds
    while taken_at(database_url) <= before and time.monotonic() < until:
        time.sleep(0.1)
    return taken_at(database_url) > before


def test_samples_of_what_a_worker_dropped_that_died_right_after_are_taken_by_another(
    database_url: str, pool: Pool
) -> None:
    collection, document = f"c{uuid4().hex}", f"d{uuid4().hex}"
    versions, another = PostgresVersions(pool), PostgresSamples(pool)
    with versions.changing(collection, "messages", [WrittenDocument(document)], Version(1, "j1")):
        pass
    time.sleep(2 * planner_statistics.SOON_S)  # what other tests dropped is long ago
    another.renew()
    before = taken_at(database_url)
    another.catch_up()
    assert not taken_within(database_url, before, seconds=1), "nothing was dropped since"
    with versions.dropping(collection, "messages", document, Version(2, "j2")):
        pass  # the worker dies before it asks for new samples
    another.catch_up()
    assert taken_within(database_url, before, seconds=60)
