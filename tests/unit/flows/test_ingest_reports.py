import time

import pytest

from querymill_shared.board import MemoryBoard, Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult, Report
from querymill_shared.settings import Settings
from querymill_workers.jobs.faults import Unavailable
from tests.unit.flows.conftest import World, report

LONG = report("a1", *(f"page {n} about subject{n}" for n in range(20)))


def ingest_of(made: dict[str, object]) -> IngestReport:
    return IngestReport(collection="filings", report=Report.model_validate(made))


def outcome(world: World, job_id: str) -> IngestResult:
    result = world.result(job_id)
    assert isinstance(result, IngestResult)
    return result


def test_ingestion_embeds_every_passage_and_tells_how_far_it_is(world: World) -> None:
    (job_id,) = world.ingest(LONG)
    assert outcome(world, job_id).total == 20
    progress = [event.done for _, event in world.board.events(job_id) if isinstance(event, Progress)]
    assert progress == [8, 16, 20]


def test_the_same_content_again_embeds_nothing(world: World) -> None:
    world.ingest(LONG)
    world.embeddings.asked.clear()
    (job_id,) = world.ingest(LONG)
    assert outcome(world, job_id).outcome == "unchanged"
    assert world.embeddings.asked == []


def test_a_killed_ingestion_goes_on_where_it_was(world: World) -> None:
    request = ingest_of(LONG)
    job_id = world.submit(request)
    honest = world.embeddings.embed
    calls = 0

    def dies_at_the_third(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Unavailable("killed")
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = dies_at_the_third  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "ingest")
    assert len(world.embeddings.asked) == 16
    assert world.reports.cards("filings", model="words") == []
    world.ring(job_id, request, "ingest")
    assert outcome(world, job_id).outcome == "ingested"
    assert len(world.embeddings.asked) == 20


def test_a_changed_report_replaces_the_old_one_whole(world: World) -> None:
    world.ingest(LONG)
    (job_id,) = world.ingest(report("a1", "one page only"))
    assert outcome(world, job_id).total == 1
    revision = world.reports.revision("filings", "a1")
    assert revision is not None
    assert world.reports.drafted("filings", "a1", revision) == {0}


def test_another_model_embeds_anew(world: World) -> None:
    world.ingest(LONG)
    world.embeddings.model = "another"
    (job_id,) = world.ingest(LONG)
    assert outcome(world, job_id).outcome == "ingested"
    assert len(world.reports.cards("filings", model="another")) == 1


def test_a_cancelled_ingestion_stops_between_batches(world: World) -> None:
    request = ingest_of(LONG)
    job_id = world.submit(request)
    honest = world.embeddings.embed

    def cancels(*args: object, **kwargs: object) -> object:
        world.board.settle(job_id, Verdict("cancelled"))
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = cancels  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "ingest")
    assert len(world.embeddings.asked) == 8
    assert world.reports.cards("filings", model="words") == []


def test_an_ingestion_that_keeps_failing_ends_with_its_reason(world: World) -> None:
    request = ingest_of(LONG)
    job_id = world.submit(request)
    world.embeddings.fails_with = Unavailable("embedding unavailable: HTTP 503")
    for _ in range(3):
        world.ring(job_id, request, "ingest")
    record = world.board.picture(job_id).record
    assert record.state == "failed"
    assert record.reason == "embedding unavailable: HTTP 503"


def test_ingestion_makes_the_collection_known(world: World) -> None:
    world.ingest(LONG)
    assert world.board.collections("reports") == {"filings"}


def test_an_attempt_after_one_that_was_killed_once_it_had_published_makes_the_collection_known(world: World) -> None:
    world.ingest(LONG)
    world.board = MemoryBoard(Settings())
    world.with_ports(board=world.board)
    world.ingest(LONG)
    assert world.board.collections("reports") == {"filings"}


@pytest.mark.parametrize("text", ["", "  \n "])
def test_a_report_of_blank_pages_has_no_passages(world: World, text: str) -> None:
    (job_id,) = world.ingest(report("a1", text))
    assert outcome(world, job_id).total == 0


def test_an_ingestion_waits_longer_for_a_provider_than_a_question_does(world: World) -> None:
    request = ingest_of(LONG)
    job_id = world.submit(request)
    world.embeddings.fails_with = Unavailable("embedding unavailable: no connection")
    for _ in range(2):
        world.ring(job_id, request, "ingest")
    time.sleep(1.1)
    assert world.board.due() == []  # the second wait is ten seconds
    assert not world.board.picture(job_id).record.is_over
