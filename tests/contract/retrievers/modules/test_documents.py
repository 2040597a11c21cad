"""Code documents, listed, exported and dropped: in memory, in PostgreSQL, and in MongoDB beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.counters import Meters
from querymill_workers.dispatch.ports import Ports
from querymill_workers.documents.ports import Documents
from querymill_workers.ledger.ports import Version
from querymill_workers.ledger.postgres import PostgresLedger
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.modules.ingest import keep_documents
from querymill_workers.retrievers.modules.ports import SPACE
from querymill_workers.retrievers.modules.rules.documents import read_id, shown_id
from querymill_workers.retrievers.modules.stores.documents import ModuleDocuments
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from querymill_workers.retrievers.modules.stores.postgres_descriptions import PostgresDescriptions
from querymill_workers.stores import vectors_in
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.postgres import PostgresWords
from tests.contract.retrievers.modules.conftest import modules_on
from tests.fakes.jobs import KeepingBoard
from tests.fakes.ports import memory_ports
from tests.fixtures.boards import new_board_of
from tests.fixtures.document_suite import LATER, DocumentSuite


@dataclass
class Stored(ModuleDocuments):
    """The documents, with the ports that they were ingested through."""

    ports: Ports

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports.modules, ports.descriptions, ports.vectors["modules"], ports.words, ports.board)
        self.ports = ports


@pytest.fixture(params=["memory", "postgres", "mongo"])
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    if request.param == "memory":
        yield Stored(memory_ports(modules=MemoryModules(), words=MemoryWords(), board=new_board_of(KeepingBoard)))
        return
    uri = request.getfixturevalue("mongodb_uri") if request.param == "mongo" else ""
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool, modules_on(uri, pool) as modules:
        yield Stored(
            memory_ports(
                modules=modules,
                descriptions=PostgresDescriptions(pool),
                vectors=vectors_in(pool, Meters(None)),
                words=PostgresWords(pool),
                ledger=PostgresLedger(pool),
                board=new_board_of(KeepingBoard),
            )
        )


def line(document: int | str, *names: str, description: str = "", **metadata: Any) -> dict[str, Any]:
    identity = (
        {"faiss_id": document, "file_path": f"{document}.js"} if isinstance(document, int) else {"file_path": document}
    )
    meta_info = {"vtkjs_modules": list(names), "description": description}
    return {**identity, "code": f"run({document!r})", "meta_info": meta_info, **metadata}


def put(stored: Stored, collection: str, *lines: Mapping[str, Any]) -> None:
    for number, given in enumerate(lines):
        version = Version(1_000 + number, "job")
        keep_documents(collection, [ModuleDocument.model_validate(given)], version, stored.ports)


class TestModuleDocuments(DocumentSuite):
    @pytest.fixture
    def documents(self, stored: Stored) -> Documents:
        return stored

    def document(self, number: int, **metadata: Any) -> Mapping[str, Any]:
        return line(number, "vtk.Filters.vtkConeSource", description="a cone", **metadata)

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["faiss_id"])

    def put(self, documents: Documents, collection: str, found: Sequence[Mapping[str, Any]]) -> None:
        assert isinstance(documents, Stored)
        put(documents, collection, *found)


@pytest.mark.parametrize("document", [0, -7, "0", "a.js", '"a.js"', '"', "-7", "文.js", "1.js"])
def test_an_id_is_read_as_it_was_shown(document: int | str) -> None:
    assert read_id(shown_id(document)) == document


def test_numbers_and_paths_that_look_alike_are_different_documents(stored: Stored) -> None:
    collection = f"c{uuid4().hex}"
    put(stored, collection, line(0, "vtkActor"), line("0", "vtkActor"), line("a b.js", "vtkActor"))
    assert [card.id for card in stored.list(collection, {}, limit=9, after=None)] == ['"0"', "0", "a b.js"]
    assert stored.drop(collection, '"0"', LATER) == 1
    assert list(stored.whole(collection, ["0", '"0"', "a b.js"])) == ["0", "a b.js"]


def test_documents_are_filtered_by_their_modules_and_their_path(stored: Stored) -> None:
    collection = f"c{uuid4().hex}"
    put(stored, collection, line("src/a.js", "vtk.Core.vtkActor", "vtkPlane"), line("src/b.js", "vtkMapper"))
    put(stored, collection, line("lib/c.js", "vtkActor", tags=["x", "y"]))

    def passing(**conditions: Any) -> list[str]:
        listed = [card.id for card in stored.list(collection, conditions, limit=9, after=None)]
        assert stored.count(collection, conditions) == len(listed)
        return listed

    assert passing(module="vtkActor") == ["lib/c.js", "src/a.js"]
    assert passing(module={"prefix": "vtk.Core."}) == ["src/a.js"]
    assert passing(path={"prefix": "src/"}) == ["src/a.js", "src/b.js"]
    assert passing(path={"prefix": "src/"}, module=["vtkPlane", "vtkMapper"]) == ["src/a.js", "src/b.js"]
    assert passing(tags="y") == ["lib/c.js"]
    assert passing(tags=None) == ["src/a.js", "src/b.js"]


def test_a_dropped_document_takes_its_words_and_has_the_lexicon_learned_again(stored: Stored) -> None:
    collection = f"c{uuid4().hex}"
    put(stored, collection, line(1, "vtkConeSource", description="a canary"), line(2, "vtkPlane", description="flat"))
    stored.drop(collection, "1", LATER)
    assert stored.ports.words.search(collection, SPACE, "canary", limit=9) == []
    board = stored.ports.board
    requests = [board.picture(job_id).request for job_id in board.recent(most=9)]
    assert LearnLexicon(collection=collection, background=True) in requests
