"""The jobs that embed reports: after ingestion, and with another model."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.reports.ingest import IngestReport, Report
from querymill_shared.contracts.reports.life import (
    PARTS,
    EmbedReportsResult,
    ReembedReports,
    ReembedReportsResult,
    embedding_key,
    embedding_of,
)
from querymill_shared.contracts.reports.search import ReportResult
from querymill_workers.inference.ports import PreviousModel
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.faults import Failed, Unavailable
from querymill_workers.retrievers.reports.embed import BATCH
from querymill_workers.text.calibration import IDENTITY
from tests.fakes.models import WordEmbeddings
from tests.fixtures.world import World, report
from tests.unit.retrievers.reports.test_ingest import LONG, ingest_of, store_alone
from tests.unit.retrievers.reports.test_search import found, search


def vectors_made(world: World, job_id: str) -> EmbedReportsResult:
    result = world.result(job_id)
    assert isinstance(result, EmbedReportsResult)
    return result


def before_call(world: World, number: int, act: Callable[[], object]) -> None:
    """Have something happen just before the given call of the embedding model."""
    honest, calls = world.embeddings.embed, []

    def embed(*args: object, **kwargs: object) -> object:
        calls.append(1)
        if len(calls) == number:
            act()
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = embed  # type: ignore[method-assign, assignment]


def test_embedding_tells_how_far_it_is(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    world.answer(bell)
    assert vectors_made(world, bell.job_id).total == 20
    progress = [
        (event.done, event.total) for _, event in world.board.events(bell.job_id) if isinstance(event, Progress)
    ]
    assert progress == [(8, 20), (16, 20), (20, 20)]


def test_an_embedding_that_was_killed_resumes(world: World) -> None:
    (bell,) = store_alone(world, LONG)

    def dies() -> None:
        raise Unavailable("killed")

    before_call(world, 3, dies)
    world.answer(bell)
    assert len(world.embeddings.asked) == 16
    world.answer(bell)
    assert vectors_made(world, bell.job_id).total == 4
    assert len(world.embeddings.asked) == 20


def test_dropping_a_report_stops_its_embedding_within_one_batch(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    before_call(world, 2, lambda: world.ports.report_life.drop("filings", "a1"))
    world.answer(bell)
    assert len(world.embeddings.asked) == 2 * BATCH
    assert world.ports.report_life.chunks("filings", "a1") == []
    assert world.board.picture(bell.job_id).record.state == "done"


def test_replacing_a_report_embeds_the_new_passages_and_no_more_of_the_old(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    before_call(world, 2, lambda: store_alone(world, report("a1", "one page only")))
    world.answer(bell)
    assert [text for text, _ in world.embeddings.asked[2 * BATCH :]] == ["one page only"]
    assert found(world, world.run(search("one page only"))).complete


def test_a_cancelled_embedding_stops_between_batches(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    before_call(world, 1, lambda: world.board.settle(bell.job_id, Verdict("cancelled")))
    world.answer(bell)
    assert len(world.embeddings.asked) == BATCH


def test_an_embedding_that_keeps_failing_ends_with_its_reason_and_the_report_stays_found(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    world.embeddings.fails_with = Failed("embedding unavailable: HTTP 503")
    for _ in range(3):
        world.answer(bell)
    record = world.board.picture(bell.job_id).record
    assert (record.state, record.reason) == ("dead", "embedding unavailable: HTTP 503")
    world.embeddings.fails_with = None
    assert "subject7" in found(world, world.run(search("subject7"))).results[0].text


def refuse(world: World, *words: str) -> None:
    """Have the provider refuse every request with a text that holds one of these words."""
    honest = type(world.embeddings).embed

    def embed(texts: Sequence[str], **kwargs: Any) -> object:
        if any(word in text.split() for text in texts for word in words):
            raise Unacceptable("embedding rejected: HTTP 400", words="content policy")
        return honest(world.embeddings, texts, **kwargs)

    world.embeddings.embed = embed  # type: ignore[method-assign, assignment]


def test_a_passage_that_the_provider_refuses_is_set_aside_and_the_others_go_on(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    refuse(world, "subject7")
    world.answer(bell)
    made = vectors_made(world, bell.job_id)
    assert (made.total, made.set_aside) == (19, 1)
    (entry,) = world.ports.set_aside.texts("filings", limit=9)
    assert (entry.key.kind, entry.key.document, entry.key.passage) == ("reports", "a1", "a1/chunk/7")
    assert "content policy" in entry.reason
    result = found(world, world.run(search("about the thing")))
    assert [part.reason for part in result.degraded] == ["1 passage set aside: the provider refused the text"]


def test_reembedding_tries_what_was_set_aside_again(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    refuse(world, "subject7")
    world.answer(bell)
    assert switched(world, world.run(ReembedReports(collection="filings", model="words"))).set_aside == 1
    refuse(world)
    assert switched(world, world.run(ReembedReports(collection="filings", model="words"))).total == 1
    assert world.ports.set_aside.texts("filings", limit=9) == []
    assert found(world, world.run(search("subject7"))).complete


def test_a_changed_report_has_nothing_set_aside_of_what_it_replaced(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    refuse(world, "subject7")
    world.answer(bell)
    world.ingest(report("a1", "one page only"))
    assert world.ports.set_aside.texts("filings", limit=9) == []


def test_another_model_drops_what_the_previous_one_refused(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    refuse(world, "subject7")
    world.answer(bell)
    change_model(world)
    assert switched(world, reembed(world)).set_aside == 0
    assert world.ports.set_aside.texts("filings", limit=9) == []


@pytest.mark.parametrize("lane", [Lane.NORMAL, Lane.BULK])
def test_embedding_keeps_the_lane_of_its_ingestion(lane: Lane) -> None:
    request = IngestReport(collection="filings", report=Report.model_validate(LONG), lane=lane)
    assert embedding_of(request).lane is lane


def test_who_waits_for_the_vectors_shares_the_job_of_the_worker(world: World) -> None:
    request = ingest_of(LONG)
    job_id = world.run(request)
    joined, is_new = world.board.submit(embedding_of(request), idempotency_key=embedding_key(job_id))
    assert (vectors_made(world, joined).total, is_new) == (20, False)


def change_model(world: World) -> WordEmbeddings:
    """Have the workers use another model, and the previous one as long as searches need it."""
    previous = world.embeddings
    world.embeddings = WordEmbeddings("another")
    world.with_ports(embeddings=world.embeddings, previous=PreviousModel(previous, IDENTITY))
    return previous


def reembed(world: World) -> str:
    return world.run(ReembedReports(collection="filings", model="another"))


def switched(world: World, job_id: str) -> ReembedReportsResult:
    result = world.result(job_id)
    assert isinstance(result, ReembedReportsResult)
    return result


def test_reembedding_makes_every_vector_and_switches(world: World) -> None:
    world.ingest(LONG, report("b2", "tomato soup"))
    previous = change_model(world)
    assert found(world, world.run(search("tomato soup"))).results[0].document == "b2"
    job_id = reembed(world)
    assert switched(world, job_id).total == 21
    assert len(world.board.picture(job_id).steps) == PARTS
    assert world.reports.searched_by("filings") == "another"
    previous.asked.clear()
    result = found(world, world.run(search("tomato soup")))
    assert (result.results[0].document, result.complete, previous.asked) == ("b2", True, [])


def test_a_search_by_a_model_that_nobody_serves_says_what_to_do(world: World) -> None:
    world.ingest(LONG)
    change_model(world)
    world.with_ports(previous=None)
    job_id = world.run(search())
    assert "run `querymill reembed reports`" in world.board.picture(job_id).record.reason


def test_what_is_ingested_meanwhile_gets_vectors_of_both_models(world: World) -> None:
    world.ingest(LONG)
    previous = change_model(world)
    previous.asked.clear()
    world.ingest(report("b2", "tomato soup"))
    assert [text for text, _ in (*previous.asked, *world.embeddings.asked)] == ["tomato soup"] * 2
    assert found(world, world.run(search("tomato soup"))).results[0].document == "b2"
    assert switched(world, reembed(world)).total == 20
    assert found(world, world.run(search("tomato soup"))).results[0].document == "b2"


def test_a_report_that_is_stored_while_the_last_part_ends_is_embedded_before_the_switch(world: World) -> None:
    world.ingest(LONG)
    change_model(world)
    before_call(world, 1, lambda: store_alone(world, report("b2", "tomato soup")))
    job_id = reembed(world)
    assert world.board.picture(job_id).steps[-1].name == "rest"
    assert switched(world, job_id).total == 21
    assert world.reports.searched_by("filings") == world.embeddings.model


def test_another_model_than_the_workers_is_refused(world: World) -> None:
    world.ingest(LONG)
    job_id = world.run(ReembedReports(collection="filings", model="unknown"))
    assert "must be the workers' embedding model 'words'" in world.board.picture(job_id).record.reason


def test_a_collection_without_reports_is_not_reembedded(world: World) -> None:
    job_id = world.run(ReembedReports(collection="filings", model="words"))
    assert world.board.picture(job_id).record.reason == "collection: no reports in 'filings'"


def test_a_search_that_began_before_the_switch_begins_again(world: World) -> None:
    world.ingest(LONG)
    previous = change_model(world)
    honest = previous.embed

    def switches(*args: object, **kwargs: object) -> object:
        if world.reports.searched_by("filings") == "words":
            reembed(world)
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    previous.embed = switches  # type: ignore[method-assign, assignment]
    request = search("subject7")
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    world.ring(job_id, request, "original")
    result = world.result(job_id)
    assert isinstance(result, ReportResult)
    assert "subject7" in result.results[0].text
