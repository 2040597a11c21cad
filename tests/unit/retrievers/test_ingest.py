"""Documents of every kind in one job: each ends as if it had come alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.board import Claim, Verdict
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.ingest import MAX_CHARS, IngestResult
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import JobResult
from querymill_shared.contracts.vectors import EmbedDocumentsResult
from querymill_workers.dispatch import run_step
from querymill_workers.words.ports import Space
from tests.fakes.jobs import KeepingBoard
from tests.fixtures.boards import new_board_of
from tests.fixtures.jobs import accepted
from tests.fixtures.people import ingestion
from tests.fixtures.world import World, example, report
from tests.fixtures.writes import SHAPES


@dataclass(frozen=True)
class Kind:
    """How documents of a kind are made and sent. ``waits``: the result names the jobs that make their vectors."""

    name: Retriever
    document: Callable[[int, str], dict[str, Any]]
    waits: bool = True

    @property
    def space(self) -> Space:
        """The index of its words."""
        return SHAPES[self.name].space

    def ingest(self, *documents: dict[str, Any]) -> Any:
        return ingestion(self.name, "c", *documents)


def module(number: int, text: str) -> dict[str, Any]:
    return example(number, "vtkConeSource", "vtkActor", description=text)


def session(number: int, text: str) -> dict[str, Any]:
    messages = [{"message_id": f"m{place}", "role": "user", "text": text} for place in range(3)]
    return {"session_id": f"s{number}", "started_at": "2026-03-01T09:00:00Z", "messages": messages}


KINDS = {
    "messages": Kind("messages", session),
    "conversations": Kind("conversations", session),
    "modules": Kind("modules", module),
    "reports": Kind("reports", lambda number, text: report(f"r{number}", text)),
    "files": Kind("files", lambda number, text: {"path": f"{number}.md", "content": text}, waits=False),
}


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def ingested(world: World, request: JobRequest) -> IngestResult:
    result = world.result(world.run(request))
    assert isinstance(result, IngestResult)
    return result


def claimed(world: World, request: JobRequest) -> Claim:
    claim = world.board.claim(world.submit(request), "ingest")
    assert claim is not None
    return claim


def test_each_document_has_its_outcome_in_the_order_of_the_request(world: World, kind: Kind) -> None:
    world.run(kind.ingest(kind.document(2, "soup")))
    result = ingested(world, kind.ingest(*(kind.document(number, "soup") for number in (3, 2, 1))))
    assert [document.outcome for document in result.documents] == ["ingested", "unchanged", "ingested"]
    assert (result.kind, result.collection, result.complete) == (f"ingest_{kind.name}", "c", True)
    assert result.total == sum(document.total for document in result.documents) > 0


def test_the_same_again_changes_nothing_in_one_job_or_alone(world: World, kind: Kind) -> None:
    documents = [kind.document(number, "soup") for number in range(5)]
    ingested(world, kind.ingest(*documents))
    for request in (kind.ingest(*documents), kind.ingest(documents[0])):
        again = ingested(world, request)
        assert {document.outcome for document in again.documents} == {"unchanged"}
        assert again.embedding_jobs == ()


def test_one_job_makes_the_vectors_of_several_documents(world: World, kind: Kind) -> None:
    result = ingested(world, kind.ingest(*(kind.document(number, "soup") for number in range(3))))
    assert len(result.embedding_jobs) == int(kind.waits)
    for embedded in map(world.result, result.embedding_jobs):
        assert isinstance(embedded, EmbedDocumentsResult)
        assert embedded.complete
    assert world.ports.vectors["messages"].counts("c", model="words").pending == 0


def outcomes(result: JobResult) -> list[str]:
    assert isinstance(result, IngestResult)
    return [document.outcome for document in result.documents]


def test_an_older_version_that_comes_late_replaces_nothing_and_leaves_no_word(world: World, kind: Kind) -> None:
    older, newer = (
        kind.ingest(kind.document(1, "herring"), kind.document(2, "tea")),
        kind.ingest(kind.document(1, "soup")),
    )
    late, first = accepted(world, [older, newer])
    world.ring(first, newer, "ingest")
    world.ring(late, older, "ingest")
    assert outcomes(world.result(late)) == ["superseded", "ingested"]
    found = [bool(world.words.search("c", kind.space, word, limit=9)) for word in ("soup", "herring", "tea")]
    assert found == [True, False, True]


def test_a_dropped_document_does_not_come_back_with_a_late_job(world: World, kind: Kind) -> None:
    request = kind.ingest(kind.document(1, "soup"))
    drop = DropDocuments(collection="c", retriever=kind.name, ids=(request.documents[0].document_id,))
    late, first = accepted(world, [request, drop])
    world.ring(first, drop, "drop")
    world.ring(late, request, "ingest")
    assert outcomes(world.result(late)) == ["forgotten"]
    assert not world.ports.documents[kind.name].count("c", {})
    assert world.words.search("c", kind.space, "soup", limit=9) == []


def test_an_attempt_after_one_that_was_killed_once_it_had_stored_makes_the_collection_known(
    world: World, kind: Kind
) -> None:
    request = kind.ingest(kind.document(1, "soup"))
    world.run(request)
    world.board = new_board_of(KeepingBoard)
    world.with_ports(board=world.board)
    assert outcomes(ingested(world, request)) == ["unchanged"]
    assert world.board.collections(kind.name) == {"c"}


def test_a_job_that_is_tried_again_asks_for_the_same_jobs(world: World, kind: Kind) -> None:
    claim = claimed(world, kind.ingest(kind.document(1, "soup"), kind.document(2, "ships")))
    first = run_step.flow_of(claim.request).step(claim, world.ports)
    assert len({bell.job_id for bell in first}) == len(first)
    assert not {bell.step for bell in run_step.flow_of(claim.request).step(claim, world.ports)} & {"embed"}


def test_progress_is_told_of_several_documents_and_costs_one_alone_nothing(world: World, kind: Kind) -> None:
    several = world.run(kind.ingest(*(kind.document(number, "soup") for number in range(3))))
    told = [event for _, event in world.board.events(several) if isinstance(event, Progress)]
    assert [(event.done, event.total) for event in told][-1:] == [(3, 3)]
    alone = world.run(kind.ingest(kind.document(9, "soup")))
    assert not [event for _, event in world.board.events(alone) if isinstance(event, Progress)]


def test_a_cancelled_job_ends_without_a_result(world: World, kind: Kind) -> None:
    claim = claimed(world, kind.ingest(kind.document(1, "soup"), kind.document(2, "ships")))
    world.board.settle(claim.job_id, Verdict("cancelled", reason="by the caller"))
    run_step.flow_of(claim.request).step(claim, world.ports)
    assert world.board.picture(claim.job_id).record.state == "cancelled"


def test_an_id_that_occurs_twice_is_refused_at_the_door(kind: Kind) -> None:
    with pytest.raises(ValidationError, match="every id must occur once") as refused:
        kind.ingest(kind.document(1, "soup"), kind.document(1, "ships"))
    assert refused.value.errors()[0]["loc"] == (f"ingest_{kind.name}", "documents")


def test_no_document_at_all_is_refused_at_the_door(kind: Kind) -> None:
    with pytest.raises(ValidationError, match="documents"):
        kind.ingest()


def test_too_much_text_is_refused_unless_it_is_one_documents(kind: Kind) -> None:
    piece = "x " * 15_000
    many = [kind.document(number, piece) for number in range(MAX_CHARS // len(piece) + 1)]
    with pytest.raises(ValidationError, match=f"texts must be at most {MAX_CHARS} characters together"):
        kind.ingest(*many)
    kind.ingest(many[0])
