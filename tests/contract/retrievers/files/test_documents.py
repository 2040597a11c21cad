"""Files, listed, filtered, exported and dropped: in memory and on PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest

from querymill_shared.contracts.files.ingest import SourceFile
from querymill_shared.counters import Meters
from querymill_workers.dispatch.ports import Ports
from querymill_workers.documents.ports import Documents
from querymill_workers.ledger.ports import Version
from querymill_workers.ledger.postgres import PostgresLedger
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.files.compare import drop_files
from querymill_workers.retrievers.files.ingest import store_files
from querymill_workers.retrievers.files.ports import SPACE
from querymill_workers.retrievers.files.stores.documents import FileDocuments
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.files.stores.postgres import PostgresFiles
from querymill_workers.stores import vectors_in
from querymill_workers.vectors.ports import Refused
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.postgres import PostgresWords
from tests.fakes.ports import memory_ports
from tests.fixtures.document_suite import DocumentSuite


class Stored(FileDocuments):
    """The documents, with the ports that they were ingested through."""

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports.files, ports.words, ports.vectors["files"])
        self.ports = ports


@pytest.fixture(params=["memory", "postgres"])
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    if request.param == "memory":
        yield Stored(memory_ports(files=MemoryFiles(), words=MemoryWords()))
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield Stored(
            memory_ports(
                files=PostgresFiles(pool),
                words=PostgresWords(pool),
                ledger=PostgresLedger(pool),
                vectors=vectors_in(pool, Meters(None)),
            )
        )


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex[:12]}"


def put(stored: Stored, collection: str, *lines: Mapping[str, Any], at: int = 1_000) -> None:
    files = [SourceFile.model_validate(line) for line in lines]
    stored.ports.vectors["files"].active_model(collection, first="words")
    store_files(collection, files, Version(at, "job"), stored.ports)


class TestFileDocuments(DocumentSuite):
    @pytest.fixture
    def documents(self, stored: Stored) -> Documents:
        return stored

    def document(self, number: int, **metadata: Any) -> Mapping[str, Any]:
        return {"path": f"src/{number}.py", "content": f"def f{number}(): pass", **metadata}

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["path"])

    def put(self, documents: Documents, collection: str, found: Sequence[Mapping[str, Any]]) -> None:
        assert isinstance(documents, Stored)
        put(documents, collection, *found)


def test_files_are_filtered_by_path_language_and_metadata(stored: Stored, collection: str) -> None:
    put(
        stored,
        collection,
        {"path": "src/a.py", "content": "x = 1", "team": ["red", "blue"]},
        {"path": "src/b.js", "content": "x = 1", "size": 3},
        {"path": "docs/c.md", "content": "x", "size": 9},
    )

    def passing(**conditions: Any) -> list[str]:
        paths = list(stored.ports.files.passing(collection, conditions))
        assert [card.id for card in stored.list(collection, conditions, limit=9, after=None)] == paths
        assert stored.count(collection, conditions) == len(paths)
        return paths

    assert passing(path={"prefix": "src/"}) == ["src/a.py", "src/b.js"]
    assert passing(language="python") == ["src/a.py"]
    assert passing(team="blue") == ["src/a.py"]
    assert passing(size={"from": 4}) == ["docs/c.md"]
    assert passing(team=None, path={"prefix": "src/"}) == ["src/b.js"]


def test_searches_among_paths_see_no_other_file(stored: Stored, collection: str) -> None:
    put(stored, collection, *({"path": f"{n}.py", "content": "def soup(): pass"} for n in range(4)))
    files, among = stored.ports.files, ["2.py", "never.py"]
    assert list(files.glob(collection, "*.py", limit=9, paths=among))[:1] == ["2.py"]
    assert [hit.path for hit in files.matching(collection, "soup", limit=9, time_s=20, paths=among).hits] == ["2.py"]
    found = files.named(collection, ["soup"], roles=["definition"], limit=1, paths=among)
    assert [place.path for place in found] == ["2.py"]


def test_a_card_counts_the_chunks_that_wait_for_a_vector_if_any_was_asked_for(stored: Stored, collection: str) -> None:
    put(stored, collection, {"path": "a.py", "content": "soup"}, {"path": "b.py", "content": "ship"})
    vectors = stored.ports.vectors["files"]
    (first, _) = vectors.pending(collection, model="words", limit=9)
    vectors.fill(collection, {first: Refused("too long")}, model="words")
    assert [card.pending for card in stored.list(collection, {}, limit=9, after=None)] == [0, 1]
    vectors.forget_model(collection)
    assert [card.pending for card in stored.list(collection, {}, limit=9, after=None)] == [0, 0]


def test_rows_and_words_of_a_file_change_together_or_not_at_all(stored: Stored, collection: str) -> None:
    put(stored, collection, {"path": "a.py", "content": "soup"})
    if isinstance(stored.ports.files, MemoryFiles):
        pytest.skip("a store in memory rolls nothing back")

    class Died(BaseException):
        pass

    def dying(*_: object, **__: object) -> None:
        raise Died

    for broken in (stored.ports.words, stored.ports.files):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(broken, "put", dying)
            with pytest.raises(Died):
                put(stored, collection, {"path": "a.py", "content": "ship"}, at=2_000)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(broken, "drop", dying)
            with pytest.raises(Died):
                drop_files(collection, ["a.py"], Version(3_000, "job"), stored.ports)
        assert stored.ports.files.contents(collection, ["a.py"]) == {"a.py": "soup"}
        assert [hit.id for hit in stored.ports.words.search(collection, SPACE, "soup", limit=9)] == ["a.py"]
        assert stored.ports.words.search(collection, SPACE, "ship", limit=9) == []
