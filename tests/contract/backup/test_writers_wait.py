"""While both stores of code documents are read, their writers wait, and nobody else does."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pymongo
import pytest
from pymongo.errors import ConnectionFailure

from querymill_workers.backup import code_documents, snapshot
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.snapshot import snapshot_of, writers_of_modules_held
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.versions.postgres import PostgresVersions
from tests.fakes.proxy import network

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


def test_writers_go_on_when_the_copy_takes_too_long(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup that is frozen, or whose MongoDB is, keeps nobody out for ever."""
    monkeypatch.setattr(snapshot, "HOLD_S", 1)
    with (
        pytest.raises(BackupError, match=r"MONGODB_URI: .* longer than 1 s"),
        writers_of_modules_held(database_url),
        WRITERS["write"](PostgresVersions(pool), "modules"),
    ):
        pass


def test_what_the_copy_raises_is_not_covered_up(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "HOLD_S", 1)
    with pytest.raises(ConnectionFailure):
        lose_mongodb(database_url, after_s=1.5)


def lose_mongodb(database_url: str, *, after_s: float) -> None:
    with writers_of_modules_held(database_url):
        time.sleep(after_s)
        raise ConnectionFailure("MongoDB is away")


def test_both_sides_notice_that_the_other_host_is_gone(database_url: str) -> None:
    with snapshot_of(database_url) as opened:
        shown = [
            opened.connection.execute(f"SHOW {name}".encode()).fetchone()
            for name in ("tcp_keepalives_idle", "tcp_user_timeout", "client_encoding")
        ]
        assert shown == [("5",), ("10000",), ("UTF8",)]
        with socket.socket(fileno=opened.connection.fileno()) as own:
            kept = own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            own.detach()
        assert kept


def test_a_mongodb_that_falls_silent_is_given_up(
    mongodb_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_documents, "SILENCE_MS", 500)
    with pymongo.MongoClient[Any](mongodb_uri) as client:
        client.get_default_database()["module_documents"].insert_one({"_id": "silent", "collection": "c"})
    at = urlsplit(mongodb_uri)
    with network(str(at.hostname), at.port or 0) as between:
        between.lay(b"module_documents", times=-1, act=lambda _: between.swallow())
        began = time.monotonic()
        with pytest.raises(ConnectionFailure):
            code_documents.copy(mongodb_uri.replace(f":{at.port}/", f":{between.port}/"), tmp_path)
        assert time.monotonic() - began < 20
