"""Many documents in one job, for every kind: each ends as if it had come alone."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.jobs import JobRequest, validate_request
from querymill_shared.contracts.loading import MAX_CHARS, LoadResult
from tests.fixtures.world import World, example


@dataclass(frozen=True)
class Kind:
    """How documents of a kind are made and sent."""

    name: str
    alone: tuple[str, str]
    many: str
    document: Callable[[int, str], dict[str, Any]]

    def load(self, *documents: dict[str, Any]) -> JobRequest:
        return asked({"kind": f"load_{self.name}", "collection": "c", self.many: documents})

    def ingest(self, document: dict[str, Any]) -> JobRequest:
        kind, field = self.alone
        return asked({"kind": kind, "collection": "c", field: document})


def asked(request: dict[str, Any]) -> JobRequest:
    return validate_request(json.dumps(request))


def module(number: int, text: str) -> dict[str, Any]:
    return example(number, "vtkConeSource", "vtkActor", description=text)


def session(number: int, text: str) -> dict[str, Any]:
    messages = [{"message_id": f"m{place}", "role": "user", "text": text} for place in range(3)]
    return {"session_id": f"s{number}", "started_at": "2026-03-01T09:00:00Z", "messages": messages}


KINDS = {
    "messages": Kind("messages", ("ingest_messages", "session"), "sessions", session),
    "conversations": Kind("conversations", ("ingest_conversations", "session"), "sessions", session),
    "modules": Kind("modules", ("ingest_modules", "document"), "documents", module),
}


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def loaded(world: World, request: JobRequest) -> LoadResult:
    result = world.result(world.run(request))
    assert isinstance(result, LoadResult)
    return result


def test_each_document_has_its_outcome_in_the_order_of_the_request(world: World, kind: Kind) -> None:
    world.run(kind.ingest(kind.document(2, "soup")))
    result = loaded(world, kind.load(*(kind.document(number, "soup") for number in (3, 2, 1))))
    assert [document.outcome for document in result.documents] == ["ingested", "unchanged", "ingested"]
    assert result.complete
    assert result.total == sum(document.total for document in result.documents) > 0


def test_loading_the_same_again_changes_nothing(world: World, kind: Kind) -> None:
    documents = [kind.document(number, "soup") for number in range(5)]
    loaded(world, kind.load(*documents))
    again = loaded(world, kind.load(*documents))
    assert {document.outcome for document in again.documents} == {"unchanged"}
    alone: Any = world.result(world.run(kind.ingest(documents[0])))
    assert alone.outcome == "unchanged"


def test_an_id_that_occurs_twice_is_refused_at_the_door(kind: Kind) -> None:
    with pytest.raises(ValidationError, match=f"{kind.many}: every id must occur once"):
        kind.load(kind.document(1, "soup"), kind.document(1, "ships"))


def test_too_much_text_is_refused_unless_it_is_one_documents(kind: Kind) -> None:
    piece = "x " * 15_000
    many = [kind.document(number, piece) for number in range(MAX_CHARS // len(piece) + 1)]
    with pytest.raises(ValidationError, match=f"{kind.many}: texts must be at most {MAX_CHARS} characters together"):
        kind.load(*many)
    kind.load(many[0])
