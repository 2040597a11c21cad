"""The rerank as a stage of a search of reports."""

import pytest

from querymill_shared.contracts.reports.search import ReportResult
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.faults import Refused
from tests.fixtures.world import World, report
from tests.unit.retrievers.reports.test_search import SHIPS, SOUP, found, search

PAGES = tuple(f"revenue of part {number} rose in the {number}. month by some cause" for number in range(1, 15))


def reranked(world: World, query: str = "revenue rose", **fields: object) -> ReportResult:
    return found(world, world.run(search(query, **{"rerank": True, **fields})))


def test_judged_hits_are_ordered_by_relevance_times_similarity(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    world.judge.rule = lambda text: 1.0 if "soup kitchen" in text else 0.1
    result = reranked(world, top_n=3)
    best = result.results[0]
    assert (best.document, best.page, best.relevance) == ("b2", 2, 1.0)
    why = best.explanation["rerank"]
    assert best.score == pytest.approx(why["relevance"] * why["similarity"])
    assert best.explanation["words_rank"] is not None
    assert result.complete
    assert [stage.name for stage in result.stages] == ["original", "rerank-01"]


def test_each_batch_is_a_step_and_reads_its_own_hits(world: World) -> None:
    world.ingest(report("a1", *PAGES))
    result = reranked(world, top_n=7)
    assert [len(asked) for asked, _ in world.judge.asked] == [10, 4]
    assert [hit.page for hit in reranked(world, top_n=1).results] == [result.results[0].page]
    assert [stage.name for stage in result.stages] == ["original", "rerank-01", "rerank-02"]
    assert len(result.results) == 7


def test_hits_without_a_judgement_stay_below_the_judged_ones(world: World) -> None:
    world.ingest(report("a1", *PAGES))
    world.judge.rule = lambda text: 0.01 if "part 8 " in text else None
    result = reranked(world, top_n=5)
    assert (result.results[0].page, result.results[0].relevance) == (8, 0.01)
    assert [hit.relevance for hit in result.results[1:]] == [None] * 4
    assert "not judged" in result.results[1].explanation["rerank"]["reason"]
    assert [part.stage for part in result.degraded] == ["rerank-01", "rerank-02"]


def test_a_judge_that_is_away_leaves_the_order_and_says_so(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    plain = found(world, world.run(search()))
    world.judge.fails_with = Refused("judge: HTTP 401")
    result = reranked(world)
    assert [hit.page for hit in result.results] == [hit.page for hit in plain.results]
    assert [(part.stage, part.reason) for part in result.degraded] == [("rerank-01", "judge: HTTP 401")]


def test_the_answer_is_written_from_the_order_of_the_rerank(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    world.judge.rule = lambda text: 1.0 if "soup kitchen" in text else 0.1
    result = reranked(world, top_n=3, answer=True)
    assert [stage.name for stage in result.stages] == ["original", "rerank-01", "answer"]
    passages = world.answers.asked[0][1]
    assert passages[0] == "Borough 2022, Borough, 2022, page 2\nrevenue of the soup kitchen"
    assert [hit.text for hit in result.results] == [passage.split("\n")[1] for passage in passages]


def test_the_judge_reads_whose_passage_it_is(world: World) -> None:
    world.ingest(SHIPS)
    texts: list[str] = []

    def rule(text: str) -> float:
        texts.append(text)
        return 0.5

    world.judge.rule = rule
    reranked(world)
    assert all(text.startswith("Acme 2022, Acme, 2022, page ") for text in texts)


def test_at_the_deadline_the_hits_come_without_the_rerank(world: World) -> None:
    world.ingest(SHIPS)
    request = search(rerank=True)
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "original")
    assert claim is not None
    assert [bell.step for bell in run_step.flow_of(claim.request).step(claim, world.ports)] == ["rerank-01"]
    run_step.settle_at_deadline(world.board.picture(job_id), world.ports)
    result = found(world, job_id)
    assert [part.stage for part in result.degraded] == ["rerank-01"]
    assert len(result.results) == 2


def test_without_a_hit_nobody_is_asked(world: World) -> None:
    world.ingest(SHIPS)
    result = reranked(world, company="Nobody Ltd")
    assert (result.results, world.judge.asked) == ((), [])
