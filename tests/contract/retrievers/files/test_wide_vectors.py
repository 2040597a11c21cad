"""Vectors of large models, up to the 4,000 dimensions that an index in half precision takes, in every table of them."""

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import psycopg
import pytest

from querymill_shared.counters import FleetCounters
from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.retrievers.files.ports import FileInfo, KeyedChunk, PreparedFile
from querymill_workers.retrievers.files.rules.code import CodeChunk
from querymill_workers.retrievers.files.stores.postgres import VECTORS, PostgresFiles
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.services.ports import TextVector
from querymill_workers.services.stores.postgres import PostgresTextVectors
from querymill_workers.vectors.postgres import PostgresVectors
from tests.fixtures.chats import messages_in, session, store
from tests.fixtures.passages import text_of
from tests.fixtures.reports import prepared_report, stores_in

TEXTS = ("nine ships", "hot soup", "cold tea")
CHAT = session("s", *TEXTS)


@pytest.fixture(scope="module", params=[1_900, 3_072, 4_000])
def wide(request: pytest.FixtureRequest, database_url: str) -> Iterator[tuple[Pool, int]]:
    """A database of its own for vectors of so many dimensions."""
    name = f"wide{uuid4().hex}"
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    url = f"{database_url.rsplit('/', 1)[0]}/{name}"
    migrate(url)
    with open_pool(url, max_size=2) as pool:
        yield pool, request.param


def vectors(dimensions: int) -> dict[str, npt.NDArray[np.float32]]:
    """Give each text a direction of its own, with no number that would compress."""
    rows = np.random.default_rng(0).standard_normal((len(TEXTS), dimensions)).astype(np.float32)
    return dict(zip(TEXTS, rows, strict=True))


def test_chunks_of_files_get_wide_vectors(wide: tuple[Pool, int]) -> None:
    files, known = PostgresFiles(wide[0]), vectors(wide[1])
    chunks = [KeyedChunk(ContentHash(text), CodeChunk(n, n + 1, n + 1, text, "")) for n, text in enumerate(TEXTS)]
    long_path = f"{'folder/' * 120}a.py"
    files.put("c", [PreparedFile(FileInfo(long_path, "python", 9, 3, 9, "words"), "", (), chunks)])
    stored = PostgresVectors(wide[0], "files", VECTORS, FleetCounters(None))
    pending = stored.pending("c", model="wide", limit=9)
    stored.fill("c", {passage: known[text_of(passage)] for passage in pending}, model="wide")
    (nearest,) = files.nearest("c", known["hot soup"], model="wide", limit=1).found
    assert nearest.chunk.text == "hot soup"
    assert nearest.cosine == pytest.approx(1)


def test_messages_get_wide_vectors(wide: tuple[Pool, int]) -> None:
    known = vectors(wide[1])
    around = dict.fromkeys((passage.content for passage in prepare_session(CHAT).passages), known["cold tea"])
    store(PostgresSessions(wide[0]), "c", CHAT, model="wide", vectors=around | known)
    found = messages_in(wide[0]).nearest(
        MessageFilter("c", ("message",)), known["hot soup"], model="wide", limit=1, floor=-2
    )
    (row,) = found.rows
    assert row.content == "hot soup"
    assert row.raw == pytest.approx(1)


def test_passages_of_reports_get_wide_vectors(wide: tuple[Pool, int]) -> None:
    known = vectors(wide[1])
    stores = stores_in(wide[0])
    stores.life.put("c", prepared_report("a", *TEXTS))
    pending = stores.vectors.pending("c", model="wide", limit=9)
    stores.vectors.fill("c", {passage: known[passage.text] for passage in pending}, model="wide")
    found = stores.reports.search(
        "c", {"q": known["hot soup"]}, model="wide", documents=["a"], depth=1, per_document=True, pages=False
    )
    assert [passage.chunk for passage in found] == [1]


def test_single_texts_get_wide_vectors(wide: tuple[Pool, int]) -> None:
    texts = PostgresTextVectors(wide[0])
    texts.store("c", [TextVector(text, ContentHash(text), row) for text, row in vectors(wide[1]).items()], model="wide")
    assert set(texts.stored("c", TEXTS, model="wide")) == set(TEXTS)
