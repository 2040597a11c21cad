"""A code base from a directory to the store: the command, a real worker, real servers."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from querymill import EmbedDocuments, Querymill
from querymill_shared.counters import FleetCounters
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.files.ports import Files
from querymill_workers.retrievers.files.stores.postgres import PostgresFiles
from querymill_workers.stores import vectors_in
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.postgres import PostgresWords
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fixtures.command_line import CommandLine
from tests.fixtures.tallies import until
from tests.fixtures.words import count_words

pytestmark = pytest.mark.usefixtures("worker", "openai_server")

MODEL = "multilingual-e5-small"
BY_VECTORS = ("--channels", "words", "--channels", "vectors")
CHANNEL = """\
import collections
from kombu.log import get_logger


class QoS:
    def restore_unacked(self):
        for tag in self._delivered:
            self.channel.basic_reject(tag)
"""


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=2) as opened:
        yield opened


@pytest.fixture
def files(pool: Pool) -> Files:
    return PostgresFiles(pool)


@pytest.fixture
def vectors(pool: Pool) -> Vectors:
    return vectors_in(pool, FleetCounters(None))["files"]


@pytest.fixture
def collection() -> str:
    return f"code{uuid4().hex[:8]}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with what a code base has, and what it should not have."""
    (tmp_path / "secret.py").write_text("outside = True")
    root = tmp_path / "project"
    for folder in ("src/build", "logs", ".git"):
        (root / folder).mkdir(parents=True)
    (root / "src/channel.py").write_text(CHANNEL)
    (root / "src/empty.py").touch()
    (root / "src/latin.c").write_bytes("/* caf\xe9 */ int brew(void) { return pour(); }".encode("latin-1"))
    (root / "src/render.js").write_text("export function 渲染() { draw('船') }")
    (root / "src/build/made.py").write_text("made = True")
    (root / "src/.gitignore").write_text("build/\n")
    (root / "logs/today.log").write_text("noise")
    (root / "logs/keep.log").write_text("kept on purpose")
    (root / ".gitignore").write_text("*.log\n!keep.log\n")
    (root / ".git/config").write_text("[core]")
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (root / "huge.sql").write_text("x" * 1_000_001)
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "up").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    return root


def ingest(querymill: CommandLine, path: Path, collection: str, *options: str, code: int = 0) -> dict[str, Any]:
    run = querymill("ingest", "files", path, "--collection", collection, "--json", *options)
    assert run.returncode == code, run.stderr
    return dict(json.loads(run.stdout))


def test_a_directory_is_taken_in_but_for_what_should_not_be(
    querymill: CommandLine, mill: Querymill, files: Files, vectors: Vectors, root: Path, collection: str
) -> None:
    said = ingest(querymill, root, collection)
    paths = [
        ".gitignore", "logs/keep.log", "src/.gitignore", "src/channel.py", "src/empty.py", "src/latin.c",
        "src/render.js",
    ]  # fmt: skip
    assert list(files.glob(collection, "*", limit=99)) == paths
    assert (said["files"], said["ingested"], said["unchanged"], said["failed"]) == (7, 7, 0, [])
    assert {entry["path"]: entry["reason"] for entry in said["skipped"]} == {
        "huge.sql": "larger than 1000000 bytes",
        "link.py": "a symbolic link out of the folder, not followed",
        "logo.png": "binary",
        "pipe": "not a regular file",
        "up": "a symbolic link out of the folder, not followed",
    }
    assert [entry["path"] for entry in said["remarks"]] == ["src/latin.c"]
    mill.submit(EmbedDocuments(collection=collection, retriever="files")).result(timeout=30)
    counts = vectors.counts(collection, model=MODEL)
    assert (files.counts(collection).files, counts.pending) == (7, 0)
    assert counts.passages == said["chunks"] > 4


def test_what_was_taken_in_is_found_by_words_names_and_expressions(
    querymill: CommandLine, files: Files, root: Path, collection: str, database_url: str
) -> None:
    ingest(querymill, root, collection)
    with open_pool(database_url, max_size=1) as pool:
        hits = PostgresWords(pool).search(collection, "files", "where is restore_unacked", limit=9)
    assert [hit.id for hit in hits] == ["src/channel.py"]
    (found,) = files.named(collection, ["restore_unacked"], roles=["definition"], limit=9)
    assert (found.path, found.symbol.line, found.symbol.qualifier) == ("src/channel.py", 6, "QoS")
    (called,) = files.named(collection, ["basic_reject"], roles=["call"], limit=9)
    assert called.path == "src/channel.py"
    assert [hit.path for hit in files.matching(collection, "渲染|pour", limit=9, time_s=5).hits] == [
        "src/latin.c",
        "src/render.js",
    ]


def test_a_second_run_sends_nothing_and_takes_away_what_is_gone(
    querymill: CommandLine, files: Files, root: Path, collection: str, database: psycopg.Connection
) -> None:
    ingest(querymill, root, collection)
    again = ingest(querymill, root, collection)
    assert (again["ingested"], again["unchanged"], again["removed"]) == (0, 7, [])
    (root / "src/latin.c").unlink()
    (root / "src/channel.py").write_text(CHANNEL + "\n\ndef more():\n    pass\n")
    third = ingest(querymill, root, collection)
    assert (third["ingested"], third["unchanged"], third["removed"]) == (1, 5, ["src/latin.c"])
    assert files.named(collection, ["brew"], roles=["definition"], limit=9) == []
    assert count_words(database, collection) == {"files": 6}


def test_nothing_is_taken_away_while_something_cannot_be_read(
    querymill: CommandLine, files: Files, root: Path, collection: str
) -> None:
    ingest(querymill, root, collection)
    (root / "src/latin.c").unlink()
    (root / ".gitignore").write_text("*.log\n!keep.log\n!\n")
    said = ingest(querymill, root, collection, code=1)
    assert said["removed"] == []
    assert files.glob(collection, "src/latin.c", limit=9) == ["src/latin.c"]
    assert any("line 3" in entry["path"] for entry in said["skipped"])


def test_json_lines_add_files_and_take_none_away(
    querymill: CommandLine, files: Files, tmp_path: Path, collection: str
) -> None:
    lines = [
        {"path": "a.py", "content": "def soup(): pass"},
        {"path": "../b.py", "content": ""},
        {"path": "a.py", "content": "def ship(): pass"},
    ]
    path = tmp_path / "files.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{")
    said = ingest(querymill, path, collection, code=1)
    assert [entry["path"] for entry in said["skipped"]] == ["line 2", "line 4"]
    assert "root" in said["skipped"][0]["reason"]
    assert dict(files.contents(collection, ["a.py"])) == {"a.py": "def ship(): pass"}
    path.write_text(json.dumps({"path": "c.py", "content": "1"}))
    assert ingest(querymill, path, collection)["removed"] == []
    assert set(files.glob(collection, "*", limit=9)) == {"a.py", "c.py"}


def test_files_are_found_while_the_embedding_model_is_away_and_their_vectors_come_later(
    querymill: CommandLine,
    files: Files,
    vectors: Vectors,
    root: Path,
    collection: str,
    openai_server: OpenAIServer,
    mill: Querymill,
) -> None:
    openai_server.script.embeddings = lambda request: Answer(b"{}", status=503)
    said = ingest(querymill, root, collection, "--vectors")
    assert said["pending"] == said["chunks"] > 0
    assert [found.path for found in files.named(collection, ["QoS"], roles=["definition"], limit=9)] == [
        "src/channel.py"
    ]
    openai_server.script.embeddings = embedded
    deadline = time.monotonic() + 60
    while vectors.counts(collection, model=MODEL).pending:
        assert time.monotonic() < deadline, "the vectors never came"
        time.sleep(0.2)


def test_vectors_of_a_small_code_base_are_made_unasked_and_from_then_on_of_every_change(
    querymill: CommandLine, files: Files, vectors: Vectors, tmp_path: Path, collection: str, openai_server: OpenAIServer
) -> None:
    def embedded_files() -> set[str]:
        texts = [text for request in openai_server.seen("embeddings") for text in request["input"]]
        return {text.split()[0] for text in texts if collection in text}

    def search_by_vectors() -> dict[str, Any]:
        run = querymill("search", "files", f"{collection} boils", "--collection", collection, *BY_VECTORS, "--json")
        return dict(json.loads(run.stdout))

    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"def boil_{collection}_{name[0]}():\n    pass\n")
        ingest(querymill, tmp_path, collection)
        until(lambda: vectors.counts(collection, model=MODEL).pending == 0, within_s=60)
        assert embedded_files() >= {name}
    found = search_by_vectors()
    assert found["complete"]
    assert {hit["path"] for hit in found["results"]} == {"a.py", "b.py"}


WRONG = [("nowhere", "nowhere"), ("empty", "no file that can be loaded")]


@pytest.mark.parametrize(("name", "said"), WRONG)
def test_what_cannot_be_loaded_is_refused(querymill: CommandLine, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    run = querymill("ingest", "files", tmp_path / name, "--collection", "c")
    assert run.returncode == 2, run.stderr
    assert said in run.stderr


def test_a_bad_collection_name_is_refused(querymill: CommandLine, root: Path) -> None:
    run = querymill("ingest", "files", root, "--collection", "a b")
    assert run.returncode == 2
    assert "collection" in run.stderr
