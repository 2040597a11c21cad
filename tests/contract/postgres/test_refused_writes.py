"""A server that takes no writes for now, and sessions that another program has set up in its own way."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import urlsplit

import numpy as np
import psycopg
import pytest

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.postgres.checked_connection import CheckedConnection
from querymill_workers.postgres.connection import Pool, across, joined, lent, open_pool
from querymill_workers.postgres.migrate import WritesRefused, check, check_writable, migrate
from querymill_workers.postgres.reading import fetch_all, snapshot
from querymill_workers.services.ports import TextVector
from querymill_workers.services.stores.postgres import PostgresTextVectors
from tests.fixtures.short_forms import crossed
from tests.fixtures.tallies import until

Lend = Callable[[Pool], AbstractContextManager[CheckedConnection]]
WRITE = "INSERT INTO conversation_collections (collection) VALUES ('c') ON CONFLICT DO NOTHING"


def refuse_writes(url: str, value: str) -> None:
    """Have sessions that begin from now on take no writes, or take them again."""
    name = urlsplit(url).path.removeprefix("/")
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("SET default_transaction_read_only = off")
        owner.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}".encode())


@pytest.mark.parametrize("lend", [lent, across, joined, snapshot])
def test_what_took_no_writes_is_not_asked_again(empty_url: str, lend: Lend) -> None:
    migrate(empty_url)
    refuse_writes(empty_url, "on")
    with open_pool(empty_url, max_size=3) as pool:
        with lent(pool), lend(pool) as connection:  # two connections are open
            connection.execute("SELECT 1")
        until(lambda: pool.get_stats()["pool_size"] == pool.get_stats()["pool_available"], within_s=10)  # none is begun
        refuse_writes(empty_url, "off")
        with pytest.raises(Unavailable, match="ReadOnlySqlTransaction"), lend(pool) as connection:
            connection.execute(WRITE)
        for _ in range(3):
            with lend(pool) as connection:
                connection.execute(WRITE)


def test_a_write_of_a_pipeline_that_is_refused_opens_connections_again(empty_url: str) -> None:
    migrate(empty_url)
    refuse_writes(empty_url, "on")
    with open_pool(empty_url, max_size=1) as pool:
        fetch_all(pool, ("SELECT 1", {}))
        refuse_writes(empty_url, "off")
        with pytest.raises(Unavailable, match="ReadOnlySqlTransaction"):
            fetch_all(pool, (f"{WRITE} RETURNING 1", {}))
        fetch_all(pool, (f"{WRITE} RETURNING 1", {}))


def test_a_server_that_takes_no_writes_is_named_and_yet_can_be_searched(empty_url: str) -> None:
    migrate(empty_url)
    check_writable(empty_url)
    refuse_writes(empty_url, "on")
    check(empty_url)  # a worker starts
    with pytest.raises(WritesRefused, match=r"^DATABASE_URL: .*default_transaction_read_only is on"):
        check_writable(empty_url)


@pytest.mark.parametrize(
    ("by", "encoding"), crossed(["the environment", "the address"], ["SQL_ASCII", "EUC_JP", "LATIN1"])
)
def test_texts_come_as_utf8_whatever_the_client_is_told(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, encoding: str, by: str
) -> None:
    url = empty_url
    if by == "the environment":
        monkeypatch.setenv("PGCLIENTENCODING", encoding)
    else:
        url = f"{empty_url}?client_encoding={encoding}"
    migrate(url)
    check(url)
    with open_pool(url, max_size=1) as pool:
        store = PostgresTextVectors(pool)
        store.store("c", [TextVector("Äрус漢字😀", ContentHash("x"), np.ones(3, dtype=np.float32))], model="m")
        assert fetch_all(pool, ("SELECT '漢字😀'", {})) == [[("漢字😀",)]]
        with across(pool) as connection:
            assert connection.execute("SELECT text_id FROM text_vectors").fetchall() == [("Äрус漢字😀",)]
