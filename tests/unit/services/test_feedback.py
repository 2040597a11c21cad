"""Judgements of hits: kept, listed, and gone with their documents."""

import pytest

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.feedback import FeedbackList, FeedbackResult, GiveFeedback, HitJudgement, ListFeedback
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fixtures.world import World


def judging(*documents: str, job: str = "a") -> GiveFeedback:
    judged = tuple(HitJudgement(hit=f"{document}/page/1", document=document, relevance=2) for document in documents)
    return GiveFeedback(collection="c", job=job, judgements=judged, asked=ReportSearch(collection="c", query="ships?"))


def kept(world: World) -> list[str]:
    page = world.result(world.run(ListFeedback(collection="c", of="reports")))
    assert isinstance(page, FeedbackList)
    assert page.total == len(page.judgements)
    return [judged.document for judged in page.judgements]


def test_judgements_are_listed_page_by_page(world: World) -> None:
    given = world.result(world.run(judging("r1", "r2", "r3")))
    assert isinstance(given, FeedbackResult)
    assert given.total == 3
    first = world.result(world.run(ListFeedback(collection="c", of="reports", limit=2)))
    assert isinstance(first, FeedbackList)
    assert ([judged.document for judged in first.judgements], first.total) == (["r1", "r2"], 3)
    assert first.judgements[0].asked == {"kind": "reports", "collection": "c", "query": "ships?"}
    second = world.result(world.run(ListFeedback(collection="c", of="reports", limit=2, after=first.cursor)))
    assert isinstance(second, FeedbackList)
    assert ([judged.document for judged in second.judgements], second.cursor) == (["r3"], None)


def test_judgements_of_deleted_documents_are_deleted(world: World) -> None:
    world.run(judging("r1", "r2"))
    world.run(DropDocuments(collection="c", retriever="reports", ids=("r1",)))
    assert kept(world) == ["r2"]


def test_a_judgement_that_comes_after_the_deletion_of_its_document_is_not_kept(world: World) -> None:
    late = world.submit(judging("r1", "r2"))
    world.run(DropDocuments(collection="c", retriever="reports", ids=("r1",)))
    world.ring(late, judging("r1", "r2"), "keep")
    assert kept(world) == ["r2"]
    assert "r1" not in str(world.board.picture(late))


@pytest.mark.parametrize("cursor", ["{}", "x", "[1]"])
def test_what_is_no_cursor_is_refused(world: World, cursor: str) -> None:
    job = world.run(ListFeedback(collection="c", of="reports", after=cursor))
    assert world.board.picture(job).record.reason == "after: must be the cursor of an earlier result"
