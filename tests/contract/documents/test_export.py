"""What is exported, dropped and ingested again is the same documents: of every retriever, on the servers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querymill_shared.contracts.documents import (
    DocumentList,
    DocumentPage,
    DropDocuments,
    ExportDocuments,
    ListDocuments,
)
from querymill_shared.contracts.filters import RESERVED, Retriever
from querymill_shared.contracts.jobs import decode_result
from querymill_workers.dispatch.ports import Ports
from tests.fakes.jobs import KeepingBoard
from tests.fixtures import filters
from tests.fixtures.boards import new_board_of
from tests.fixtures.document_suite import run
from tests.fixtures.people import ingestion
from tests.fixtures.server_ports import server_ports

#: Texts as people write them, and what drivers and JSON get wrong. A file may be empty, a name may not.
TEXTS = st.sampled_from(["", "nine ships", "船 und Boote", "a\n\tb", "\u2028", '{"$gt": "\\u0000"}', "😀é", "%s {} '"])
NAMES = st.sampled_from(["Ada", "a b", "名", "7", "😀", "O'Brien", '"quoted"', "%"])
TIMES = st.sampled_from(["2026-01-01T10:00:00Z", "2026-02-03T04:05:06.789012+02:00", "1999-12-31T23:59:59Z"])


@pytest.fixture(scope="module", params=["postgres", "mongo"])
def ports(request: pytest.FixtureRequest) -> Iterator[Ports]:
    mongodb_uri = request.getfixturevalue("mongodb_uri") if request.param == "mongo" else ""
    with server_ports(request.getfixturevalue("database_url"), mongodb_uri, board=new_board_of(KeepingBoard)) as ports:
        yield ports


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


def merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda found: {name: value for part in found for name, value in part.items()})


def messages() -> st.SearchStrategy[list[dict[str, Any]]]:
    message = merged(filters.metadata(), optional(role=NAMES, created_at=TIMES), st.fixed_dictionaries({"text": TEXTS}))
    numbered = st.tuples(st.booleans(), message)
    return st.lists(numbered, min_size=1, max_size=3).map(
        lambda found: [({"message_id": str(n)} if named else {}) | each for n, (named, each) in enumerate(found)]
    )


def sessions() -> st.SearchStrategy[dict[str, Any]]:
    known = st.fixed_dictionaries({"session_id": NAMES, "started_at": TIMES, "messages": messages()})
    return merged(filters.metadata(), optional(name=NAMES, user_name=NAMES), known)


def reports() -> st.SearchStrategy[dict[str, Any]]:
    pages = st.lists(TEXTS, min_size=1, max_size=2).map(
        lambda texts: [{"page": number, "text": f"page {text}"} for number, text in enumerate(texts, start=1)]
    )
    known = st.fixed_dictionaries({"sha1": st.sampled_from(["r1", "r2", "r3"]), "title": NAMES, "pages": pages})
    more = optional(
        company=NAMES, aliases=st.lists(NAMES, max_size=2), period=NAMES, published_at=st.sampled_from(filters.DAYS)
    )
    return merged(filters.metadata(), more, known)


def modules() -> st.SearchStrategy[dict[str, Any]]:
    names = st.lists(st.sampled_from(["vtk.Core.vtkActor", "vtkPlane", "A"]), min_size=1, max_size=2)
    meta = merged(optional(kind=NAMES), st.fixed_dictionaries({"vtkjs_modules": names, "description": TEXTS}))
    paths = st.sampled_from(["a.js", "7", "文.js", '"q"', "src/b c.js"])
    known = st.fixed_dictionaries({"file_path": paths, "code": TEXTS, "meta_info": meta})
    return merged(filters.metadata(), optional(faiss_id=st.integers(-1, 7)), known)


def files() -> st.SearchStrategy[dict[str, Any]]:
    paths = st.sampled_from(["a.py", "src/b c.ts", "文.md", "Makefile", "x/%.sh"])
    return merged(filters.metadata(), st.fixed_dictionaries({"path": paths, "content": TEXTS}))


LINES: Mapping[Retriever, st.SearchStrategy[dict[str, Any]]] = {
    "conversations": sessions(),
    "messages": sessions(),
    "reports": reports(),
    "modules": modules(),
    "files": files(),
}


def page_of(ports: Ports, request: Any) -> Any:
    found = ports.board.result(run(ports, request))
    assert found is not None
    return decode_result(found)


def exported(ports: Ports, retriever: Retriever, collection: str) -> Sequence[Mapping[str, Any]]:
    page = page_of(ports, ExportDocuments(retriever=retriever, collection=collection))
    assert isinstance(page, DocumentPage)
    return page.documents


def listed(ports: Ports, retriever: Retriever, collection: str) -> DocumentList:
    page = page_of(ports, ListDocuments(retriever=retriever, collection=collection))
    assert isinstance(page, DocumentList)
    return page


def test_every_retriever_is_tried() -> None:
    assert LINES.keys() == RESERVED.keys()


@pytest.mark.parametrize("retriever", LINES)
@settings(max_examples=max(2, settings.default.max_examples // 20))  # type: ignore[union-attr]
@given(st.data())
def test_what_is_exported_and_dropped_comes_back_the_same(
    ports: Ports, retriever: Retriever, data: st.DataObject
) -> None:
    collection = f"c{uuid4().hex[:12]}"
    for line in data.draw(st.lists(LINES[retriever], min_size=1, max_size=3)):
        run(ports, ingestion(retriever, collection, line))
    before, cards = exported(ports, retriever, collection), listed(ports, retriever, collection).documents
    assert len(before) == len(cards) > 0
    run(ports, DropDocuments(retriever=retriever, collection=collection, everything=True))
    assert exported(ports, retriever, collection) == ()
    assert listed(ports, retriever, collection).total == 0
    for again in before:
        run(ports, ingestion(retriever, collection, again))
    assert exported(ports, retriever, collection) == before
    assert listed(ports, retriever, collection).documents == cards
