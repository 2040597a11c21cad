import pytest

from querymill_shared.contracts.reports.ingest import IngestReports, IngestReportsResult, Report
from querymill_shared.contracts.vectors import EmbedDocuments, EmbedDocumentsResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.reports import ingest
from querymill_workers.retrievers.reports.ports import SPACE
from tests.fixtures.world import World, report

LONG = report("a1", *(f"page {n} about subject{n}" for n in range(20)))


def ingest_of(made: dict[str, object]) -> IngestReports:
    return IngestReports(collection="filings", documents=(Report.model_validate(made),))


def outcome(world: World, job_id: str) -> IngestReportsResult:
    result = world.result(job_id)
    assert isinstance(result, IngestReportsResult)
    return result


def store_alone(world: World, made: dict[str, object]) -> list[Bell]:
    """Ingest, and return the bells of the embedding, which is not rung."""
    request = ingest_of(made)
    claim = world.board.claim(world.submit(request), "ingest")
    assert claim is not None
    return list(ingest.step(claim, request, world.ports))


def found_by_words(world: World, text: str) -> list[str]:
    return [hit.id for hit in world.words.search("filings", SPACE, text, limit=99)]


def test_a_report_is_found_by_its_words_before_it_has_a_vector(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    assert world.embeddings.asked == []
    assert found_by_words(world, "subject7")[0] == "a1/chunk/7"
    assert isinstance(world.board.picture(bell.job_id).request, EmbedDocuments)


def test_ingestion_counts_its_passages_and_the_job_that_follows_embeds_each(world: World) -> None:
    (job_id,) = world.ingest(LONG)
    assert outcome(world, job_id).total == 20
    assert len(world.embeddings.asked) == 20


def test_the_same_content_again_names_the_job_that_waits_to_make_its_vectors(world: World) -> None:
    (bell,) = store_alone(world, LONG)
    (job_id,) = world.ingest(LONG)
    assert outcome(world, job_id).embedding_jobs[0] == bell.job_id
    world.answer(bell)
    assert len(world.embeddings.asked) == 20


def test_a_changed_report_replaces_the_old_one_with_its_words(world: World) -> None:
    world.ingest(LONG)
    (job_id,) = world.ingest(report("a1", "one page only"))
    assert outcome(world, job_id).total == 1
    assert found_by_words(world, "about page only") == ["a1/chunk/0"]
    assert [chunk.text for chunk in world.ports.report_life.chunks("filings", "a1")] == ["one page only"]


@pytest.mark.parametrize("text", ["", "  \n "])
def test_a_report_of_blank_pages_has_no_passages(world: World, text: str) -> None:
    (job_id,) = world.ingest(report("a1", text))
    assert outcome(world, job_id).total == 0
    assert not any(isinstance(world.result(job), EmbedDocumentsResult) for job in world.board.recent(limit=9))


def test_a_page_of_a_million_characters_becomes_passages_that_fit_the_models_input(world: World) -> None:
    page = "".join(f"Line {n}: the harbour of Vestby counted {n * 7} ships.\n" for n in range(21_000))
    assert len(page) > 1_000_000
    request = ingest_of(report("a1", page))
    claim = world.board.claim(world.submit(request), "ingest")
    assert claim is not None
    world.with_ports(count_tokens=len)
    ingest.step(claim, request, world.ports)
    chunks = world.ports.report_life.chunks("filings", "a1")
    assert max(len(chunk.text) for chunk in chunks) <= 310
    assert found_by_words(world, "146993") != []
