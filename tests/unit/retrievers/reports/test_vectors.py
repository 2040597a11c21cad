"""Searches while vectors of reports are made, refused, or replaced by those of another model."""

from collections.abc import Sequence
from typing import Any

from querymill_shared.contracts.reports.search import ReportResult
from querymill_shared.contracts.vectors import Reembed
from querymill_workers.inference.ports import PreviousModel
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.faults import CallFailed
from querymill_workers.text.calibration import IDENTITY
from tests.fakes.models import WordEmbeddings
from tests.fixtures.world import World, report
from tests.unit.retrievers.reports.test_ingest import LONG, outcome, store_alone
from tests.unit.retrievers.reports.test_search import found, search


def test_an_embedding_that_keeps_failing_ends_with_its_reason_and_the_report_stays_found(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    world.embeddings.fails_with = CallFailed("embedding unavailable: HTTP 503")
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


def test_a_search_counts_passages_that_the_provider_refused(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    refuse(world, "subject7")
    world.answer(bell)
    result = found(world, world.run(search("about the thing")))
    assert [(part.reason, part.code) for part in result.degraded] == [
        ("1 passage set aside: the provider refused the text", "provider_refused")
    ]
    refuse(world)
    world.run(Reembed(collection="filings", retriever="reports", model="words"))
    assert found(world, world.run(search("subject7"))).complete


def test_the_result_names_the_job_that_makes_the_vectors(world: World) -> None:
    (job_id,) = world.ingest(LONG)
    followed = outcome(world, job_id).embedding_jobs[0]
    assert followed is not None
    assert world.result(followed).total == 20
    (again,) = world.ingest(LONG)
    assert outcome(world, again).embedding_jobs == ()


def change_model(world: World) -> WordEmbeddings:
    """Have the workers use another model, and the previous one as long as searches need it."""
    previous = world.embeddings
    world.embeddings = WordEmbeddings("another")
    world.with_ports(embeddings=world.embeddings, previous=PreviousModel(previous, IDENTITY))
    return previous


def reembed(world: World) -> str:
    return world.run(Reembed(collection="filings", retriever="reports", model="another"))


def test_a_collection_is_searched_by_its_previous_model_until_every_vector_of_the_other_is_made(world: World) -> None:
    world.ingest(LONG, report("b2", "tomato soup"))
    previous = change_model(world)
    assert found(world, world.run(search("tomato soup"))).results[0].document == "b2"
    reembed(world)
    previous.asked.clear()
    result = found(world, world.run(search("tomato soup")))
    assert (result.results[0].document, result.complete, previous.asked) == ("b2", True, [])


def test_a_search_by_a_model_that_nobody_serves_says_what_to_do(world: World) -> None:
    world.ingest(LONG)
    change_model(world)
    world.with_ports(previous=None)
    job_id = world.run(search())
    assert "run `querymill reembed reports`" in world.board.picture(job_id).record.reason


def test_a_search_that_began_before_the_switch_begins_again(world: World) -> None:
    world.ingest(LONG)
    previous = change_model(world)
    honest = previous.embed

    def switches(*args: object, **kwargs: object) -> object:
        if world.reports.vectors.active_model("filings") == "words":
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
