"""An export that is ingested again answers as before: metadata, filters, Chinese, long texts, refused ones."""

import time
from collections.abc import Mapping
from typing import Any, Final, get_args
from uuid import uuid4

import pytest

from querymill import ListSetAside, Querymill
from querymill_shared.contracts.filters import Retriever
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import finished
from tests.fixtures.people import ingestion, search

KINDS: tuple[Retriever, ...] = get_args(Retriever)
REFUSED: Final = "unreadable to the provider"
#: More than any model's input, with a word of its own in the middle.
LONG: Final = "ropes and sails\n" * 2_000 + "the brigantine waits\n" + "sails and ropes\n" * 2_000
TEXTS: Final[Mapping[str, str]] = {
    "english": "the fleet counts nine ships in the harbour",
    "chinese": "港口里有九艘船，货物已经装好",
    "long": LONG,
    "refused": f"the cargo is {REFUSED}",
}
METADATA: Final[Mapping[str, Mapping[str, Any]]] = {
    "english": {"team": "red", "level": 3, "tags": ["a", "b"], "seen": {"by": ["ada", None], "at": 0.1}},
    "chinese": {"team": "蓝", "level": 2.5, "checked": True, "nothing": None, "inner": {"nothing": None}},
    "long": {"team": "red", "level": 9_007_199_254_740_993},
    "refused": {"level": "3"},
}
QUESTIONS: Final = ("ships in the harbour", "九艘船", "brigantine", "cargo")
FILTERS: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"team": ["red", "蓝"]},
    {"team": None},
    {"level": {"from": 2, "to": 3}},
    {"level": 9_007_199_254_740_993},
    {"tags": "b"},
    {"checked": True, "team": {"prefix": "蓝"}},
)


@pytest.fixture(autouse=True)
def picky(openai_server: OpenAIServer) -> None:
    """A provider that refuses one of the texts."""

    def script(request: dict[str, Any]) -> Answer:
        if any(REFUSED in text for text in request["input"]):
            return Answer(b'{"error": {"message": "cannot be read", "type": "invalid_request_error"}}', status=400)
        return embedded(request)

    openai_server.script.embeddings = script


def document(kind: Retriever, name: str) -> dict[str, Any]:
    """Return a document that uses every field of its kind, as a line of ingestion."""
    text, metadata = TEXTS[name], METADATA[name]
    match kind:
        case "messages" | "conversations":
            first = {
                "role": "user",
                "text": text,
                "none": None,
                "created_at": "2026-03-01T10:00:00.123456+08:00",
                **metadata,
            }
            reply = {"message_id": f"{name}/2", "role": "助手", "text": "noted", "created_at": "2026-03-01T02:00Z"}
            session = {"session_id": f"s/{name} é", "name": f"talk of {name}", "user_name": f"用户 {name}"}
            return session | {"started_at": "2026-02-28T23:59:59Z", "messages": [first, reply], **metadata}
        case "reports":
            pages = [{"page": 7, "text": text}, {"page": 3, "text": "a page before"}]
            identity = {"sha1": f"r-{name}", "title": f"Report of {name}", "company": f"{name} 公司", "aliases": [name]}
            return identity | {"period": "2025", "published_at": "2026-02-03", "pages": pages, **metadata}
        case "modules":
            meta = {"vtkjs_modules": [f"vtk.Filters.vtk{name.title()}"], "description": text[:8_000]}
            return {
                "faiss_id": 100 + list(TEXTS).index(name),
                "file_path": f"Ex/{name}.js",
                "code": text,
                "meta_info": meta,
                **metadata,
            }
        case "files":
            return {"path": f"src/{name}.py", "content": f"def {name}():\n    '''{text}'''\n", **metadata}


def embedded_result(mill: Querymill, request: Any) -> Any:
    """Search, again until nothing waits for its vector any more."""
    until = time.monotonic() + 30
    while True:
        result = mill.submit(request).result(timeout=60)
        if not any("pending" in part.reason for part in result.degraded) or time.monotonic() > until:
            return result
        time.sleep(0.2)


def answers(mill: Querymill, kind: Retriever, collection: str) -> list[Any]:
    """Return what a collection answers to every question under every filter, without its own name."""
    found: list[Any] = []
    for conditions in FILTERS:
        listed = mill.list(kind, collection=collection, filter=conditions)
        found.append((listed.total, [card.id for card in listed.documents]))
        for question in QUESTIONS:
            request = search(kind, collection, question).model_dump() | {"filter": conditions}
            result = embedded_result(mill, type(search(kind, collection, question)).model_validate(request))
            told = result.model_dump_json(include={"results", "total"}).replace(collection, "COLLECTION")
            found.append((question, told, [part.stage for part in result.degraded]))
    refused = mill.submit(ListSetAside(collection=collection)).result(timeout=30)
    return [*found, sorted((text.document, text.passage, text.reason) for text in refused.texts)]


@pytest.mark.nightly  # by day: contract/documents/test_export.py, test_forgotten.py
@pytest.mark.parametrize("kind", KINDS)
def test_an_export_of_everything_that_a_document_can_hold_gives_the_same_answers(
    worker: WorkerProcess, mill: Querymill, kind: Retriever
) -> None:
    collection, copy = f"from-{uuid4().hex[:8]}", f"into-{uuid4().hex[:8]}"
    for name in TEXTS:
        finished(mill, ingestion(kind, collection, document(kind, name)))
    exported = list(mill.export(kind, collection=collection))
    assert len(exported) == len(TEXTS)
    for line in exported:
        finished(mill, ingestion(kind, copy, line))
    assert list(mill.export(kind, collection=copy)) == exported
    first = answers(mill, kind, collection)
    assert answers(mill, kind, copy) == first
    assert "brigantine" in str(first)
    assert first[0][0] == len(TEXTS)
