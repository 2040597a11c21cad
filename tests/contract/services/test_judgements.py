"""What every store of judgements must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from querymill_shared.contracts.feedback import GiveFeedback, HitJudgement
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.postgres.connection import open_pool
from querymill_workers.services.ports import JudgementKey, Judgements
from querymill_workers.services.stores.memory_judgements import MemoryJudgements
from querymill_workers.services.stores.postgres_judgements import PostgresJudgements


@pytest.fixture(params=["memory", "postgres"])
def judgements(request: pytest.FixtureRequest) -> Iterator[Judgements]:
    if request.param == "memory":
        yield MemoryJudgements()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=2) as pool:
        yield PostgresJudgements(pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def said(collection: str, *judged: HitJudgement, job: str = "a") -> GiveFeedback:
    return GiveFeedback(
        collection=collection, job=job, judgements=judged, asked=ReportSearch(collection=collection, query="ships?")
    )


def keep(judgements: Judgements, request: GiveFeedback) -> None:
    judgements.keep(request, request.judgements)


def relevances(judgements: Judgements, collection: str) -> dict[str, int]:
    kept = judgements.list(collection, "reports", limit=100, after=None)
    return {f"{judged.job} {judged.hit}": judged.relevance for judged in kept}


def test_what_is_said_again_of_a_hit_replaces_what_was_said(judgements: Judgements, collection: str) -> None:
    keep(judgements, said(collection, HitJudgement(hit="r/page/1", document="r", relevance=3, comment="just this")))
    keep(judgements, said(collection, HitJudgement(hit="r/page/1", document="r", place="1", relevance=0)))
    (kept,) = judgements.list(collection, "reports", limit=10, after=None)
    assert (kept.job, kept.hit, kept.document, kept.place) == ("a", "r/page/1", "r", "1")
    assert (kept.relevance, kept.comment) == (0, "")
    assert kept.asked == {"kind": "reports", "collection": collection, "query": "ships?"}


def test_pages_are_in_the_order_of_code_points_and_none_is_lost(judgements: Judgements, collection: str) -> None:
    for job in ("b", "B", "ä"):
        keep(
            judgements, said(collection, *(HitJudgement(hit=hit, document="r", relevance=1) for hit in "zaZ"), job=job)
        )
    listed, after = [], None
    while page := judgements.list(collection, "reports", limit=2, after=after):
        listed += [(judged.job, judged.hit) for judged in page]
        after = JudgementKey(*listed[-1])
    assert listed == [(job, hit) for job in ("B", "b", "ä") for hit in "Zaz"]
    assert judgements.count(collection, "reports") == 9


def test_judgements_go_with_their_document(judgements: Judgements, collection: str) -> None:
    keep(judgements, said(collection, *(HitJudgement(hit=f"{name}/1", document=name, relevance=1) for name in "rst")))
    judgements.drop(collection, "reports", ["r", "t", "unknown"])
    assert relevances(judgements, collection) == {"a s/1": 1}


def test_no_collection_and_no_retriever_sees_those_of_another(judgements: Judgements, collection: str) -> None:
    keep(judgements, said(collection, HitJudgement(hit="r/1", document="r", relevance=1)))
    judgements.drop(f"{collection}x", "reports", ["r"])
    judgements.drop(collection, "files", ["r"])
    judgements.drop_all(collection, "files")
    assert judgements.list(collection, "files", limit=10, after=None) == []
    assert relevances(judgements, f"{collection}x") == {}
    assert relevances(judgements, collection) == {"a r/1": 1}
    judgements.drop_all(collection, "reports")
    assert judgements.count(collection, "reports") == 0
