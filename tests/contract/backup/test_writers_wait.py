"""While both stores of code documents are read, their writers wait, and nobody else does."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import pytest

from querymill_workers.backup.snapshot import writers_of_modules_held
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.versions.postgres import PostgresVersions

VERSION: Final = Version(5, "job")
WRITERS: Final[dict[str, Callable[[PostgresVersions, str], AbstractContextManager[Any]]]] = {
    "write": lambda versions, kind: versions.changing("c", kind, [WrittenDocument("d")], VERSION),
    "drop": lambda versions, kind: versions.dropping("c", kind, "d", VERSION),
    "work alone": lambda versions, kind: versions.alone("c", kind),
}


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=4) as opened:
        yield opened


@contextmanager
def in_a_thread(block: AbstractContextManager[Any]) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Enter a block in a thread, and leave it once told. Yields what says that it is entered, and what tells."""
    entered, leave = threading.Event(), threading.Event()

    def run() -> None:
        with block:
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield entered, leave
    finally:
        leave.set()
        thread.join()


@pytest.mark.parametrize("writer", WRITERS)
def test_writers_of_code_documents_wait_for_the_end(pool: Pool, database_url: str, writer: str) -> None:
    with writers_of_modules_held(database_url):
        waiting = in_a_thread(WRITERS[writer](PostgresVersions(pool), "modules"))
        entered, _ = waiting.__enter__()
        assert not entered.wait(0.3)
    assert entered.wait(5)
    waiting.__exit__(None, None, None)


@pytest.mark.parametrize("writer", WRITERS)
def test_who_writes_already_is_waited_for(pool: Pool, database_url: str, writer: str) -> None:
    with in_a_thread(WRITERS[writer](PostgresVersions(pool), "modules")) as (entered, leave):
        assert entered.wait(5)
        with in_a_thread(writers_of_modules_held(database_url)) as (held, _):
            assert not held.wait(0.3)
            leave.set()
            assert held.wait(5)


def test_writers_of_other_documents_do_not_wait(pool: Pool, database_url: str) -> None:
    with writers_of_modules_held(database_url):
        for kind in ("reports", "messages", "conversations", "files"):
            with WRITERS["write"](PostgresVersions(pool), kind):
                pass
