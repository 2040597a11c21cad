import time
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.board import Due
from querymill_shared.contracts.events import Done, Hits
from querymill_shared.contracts.rerank import Rerank, RerankResult
from querymill_shared.queues import Queue
from querymill_workers.dispatch import run_step
from querymill_workers.dispatch.sweeper import recover
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.services.judging import SETTLE_MARGIN_S
from tests.fixtures.world import World


def hits(count: int, *, score: float = 0.5) -> list[dict[str, Any]]:
    return [{"id": f"h{n:03}", "text": f"passage number {n}", "score": score} for n in range(count)]


def asked(given: list[dict[str, Any]] | int = 3, **fields: Any) -> Rerank:
    listed = hits(given) if isinstance(given, int) else given
    return Rerank.model_validate({"query": "which number?", "collection": "default", "hits": listed} | fields)


def reranked(world: World, job_id: str) -> RerankResult:
    result = world.result(job_id)
    assert isinstance(result, RerankResult)
    return result


def order(result: RerankResult) -> list[str | int]:
    return [hit.id for hit in result.results]


def test_hits_come_back_in_the_order_of_relevance_times_similarity(world: World) -> None:
    given = [
        {"id": "near", "text": "near", "score": 0.9},
        {"id": "both", "text": "both", "score": 0.8},
        {"id": "relevant", "text": "relevant", "score": 0.5},
    ]
    world.judge.rule = {"near": 0.5, "both": 0.9, "relevant": 1.0}.__getitem__
    result = reranked(world, world.run(asked(given)))
    assert order(result) == ["both", "relevant", "near"]
    best = result.results[0]
    assert (best.relevance, best.similarity, best.judged) == (0.9, 0.8, True)
    assert best.score == pytest.approx(0.72)
    assert best.explanation["formula"] == "relevance × similarity"
    assert (result.complete, result.total) == (True, 3)
    assert result.usage == {"provider_calls": 1, "tokens": 3}


def test_the_weighted_sum_is_selectable(world: World) -> None:
    world.judge.rule = lambda text: 0.5
    (hit,) = reranked(world, world.run(asked([{"id": "a", "text": "t", "score": 0.8}], combine="weighted"))).results
    assert hit.score == pytest.approx(0.7 * 0.5 + 0.3 * 0.8)


def test_each_batch_is_a_step_of_its_own_on_the_rerank_queue(world: World) -> None:
    request = asked(25)
    assert request.steps == ("batch-01", "batch-02", "batch-03")
    assert {request.queue_of(step) for step in request.steps} == {Queue.RERANK}
    result = reranked(world, world.run(request))
    assert [ids for ids, _ in world.judge.asked] == [
        [f"h{n:03}" for n in range(start, min(start + 10, 25))] for start in (0, 10, 20)
    ]
    assert [stage.name for stage in result.stages] == list(request.steps)
    assert result.total == len(result.results) == 25


def test_two_hundred_hits_are_twenty_batches_whose_names_sort(world: World) -> None:
    request = asked(200)
    assert len(request.steps) == 20
    assert list(request.steps) == sorted(request.steps)
    assert reranked(world, world.run(request)).complete


def test_the_judged_so_far_are_told_while_batches_are_open(world: World) -> None:
    request = asked(12)
    job_id = world.submit(request)
    world.judge.rule = lambda text: 0.9 if text.endswith("11") else 0.1
    world.ring(job_id, request, "batch-02")
    last = world.board.events(job_id)[-1][1]
    assert isinstance(last, Hits)
    assert (last.after_stage, last.total) == ("batch-02", 2)
    assert [hit.key for hit in last.hits] == ["h011", "h010"]


def test_a_smaller_top_n_is_the_head_of_the_whole_list(world: World) -> None:
    world.judge.rule = lambda text: int(text.split()[-1]) / 20
    whole = reranked(world, world.run(asked(15)))
    short = reranked(world, world.run(asked(15, top_n=4)))
    assert order(short) == order(whole)[:4]
    assert short.total == 15


def test_ids_come_back_as_they_were_given(world: World) -> None:
    given = [{"id": 0, "text": "zero", "score": 0.1}, {"id": "0a", "text": "a", "score": 0.2}]
    assert order(reranked(world, world.run(asked(given)))) == ["0a", 0]


def test_a_hit_without_judgement_stands_below_the_judged_and_is_named(world: World) -> None:
    world.judge.rule = lambda text: None if text.endswith("0") else 0.0
    result = reranked(world, world.run(asked(3)))
    assert order(result) == ["h001", "h002", "h000"]
    assert (result.results[2].judged, result.results[2].relevance) == (False, None)
    assert "not judged" in result.results[2].explanation["reason"]
    assert not result.complete
    assert [(part.stage, part.reason) for part in result.degraded] == [
        ("batch-01", "no relevance from the judge for: h000")
    ]


def test_judgements_of_hits_that_are_not_in_the_batch_are_dropped(world: World) -> None:
    world.judge.also = {"h011": 1.0, "nobody": 1.0}
    request = asked(12)
    job_id = world.submit(request)
    world.ring(job_id, request, "batch-01")
    world.judge.also, world.judge.fails_with = {}, Refused("no")
    world.ring(job_id, request, "batch-02")
    result = reranked(world, job_id)
    assert {hit.id for hit in result.results if not hit.judged} == {"h010", "h011"}


def test_a_failed_batch_is_named_and_its_hits_keep_their_order_at_the_end(world: World) -> None:
    request = asked(15)
    job_id = world.submit(request)
    world.judge.fails_with = Refused("rerank endpoint: HTTP 400")
    world.ring(job_id, request, "batch-01")
    world.judge.fails_with = None
    world.ring(job_id, request, "batch-02")
    result = reranked(world, job_id)
    assert order(result) == [f"h{n:03}" for n in (*range(10, 15), *range(10))]
    assert [(part.stage, part.reason) for part in result.degraded] == [("batch-01", "rerank endpoint: HTTP 400")]
    assert world.board.events(job_id)[-1][1] == Done(complete=False)


def test_a_rerank_that_judged_nothing_gives_the_callers_order_and_every_reason(world: World) -> None:
    world.judge.fails_with = Refused("no judge today")
    given = hits(12)[::-1]
    result = reranked(world, world.run(asked(given)))
    assert order(result) == [hit["id"] for hit in given]
    assert [part.reason for part in result.degraded] == ["no judge today"] * 2
    assert not any(hit.judged for hit in result.results)


def test_a_judge_away_for_a_moment_is_asked_again(world: World) -> None:
    request = asked(3)
    job_id = world.submit(request)
    world.judge.fails_with = Unavailable("chat model: HTTP 503")
    world.ring(job_id, request, "batch-01")
    assert not world.board.picture(job_id).record.is_over
    world.judge.fails_with = None
    world.ring(job_id, request, "batch-01")
    result = reranked(world, job_id)
    assert (result.complete, result.stages[0].attempt) == (True, 2)


def test_at_the_deadline_what_is_judged_counts_and_the_rest_is_named(world: World) -> None:
    request = asked(25)
    job_id = world.submit(request)
    world.ring(job_id, request, "batch-02")
    assert recover(Due(job_id, None, past_deadline=True), world.ports) == []
    result = reranked(world, job_id)
    assert order(result) == [f"h{n:03}" for n in (*range(10, 20), *range(10), *range(20, 25))]
    assert [(part.stage, part.reason) for part in result.degraded] == [
        ("batch-01", "cut by the deadline"),
        ("batch-03", "cut by the deadline"),
    ]


def test_at_the_deadline_with_nothing_begun_the_callers_order_is_the_answer(world: World) -> None:
    job_id = world.submit(asked(3))
    run_step.settle_at_deadline(world.board.picture(job_id), world.ports)
    result = reranked(world, job_id)
    assert order(result) == ["h000", "h001", "h002"]
    assert result.timing == {}


def test_the_judge_gets_no_more_time_than_the_deadline_leaves(world: World) -> None:
    world.run(asked(1, deadline=30, collection="filings", lane="bulk"))
    caller = world.judge.asked[0][1]
    assert caller.expires_at is not None
    assert caller.expires_at <= time.monotonic() + 30 - SETTLE_MARGIN_S
    assert (caller.collection, caller.lane) == ("filings", "bulk")


def test_with_no_time_left_the_judge_is_not_asked(world: World) -> None:
    result = reranked(world, world.run(asked(1, deadline=0.1)))
    assert world.judge.asked == []
    assert "cut by the deadline" in result.degraded[0].reason


def test_a_bell_rung_twice_changes_nothing(world: World) -> None:
    request = asked(12)
    job_id = world.submit(request)
    for step in ("batch-01", "batch-01", "batch-02", "batch-01", "batch-02"):
        world.ring(job_id, request, step)
    assert len(world.judge.asked) == 2
    assert [type(event) for _, event in world.board.events(job_id)].count(Done) == 1


def hit(**changes: Any) -> list[dict[str, Any]]:
    return [{"id": "a", "text": "t", "score": 0.5} | changes]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"query": " "}, "query"),
    ({"hits": []}, "hits"),
    ({"hits": hits(201)}, "hits"),
    ({"hits": hit() + hit(text="other")}, "every id must occur once, 'a' occurs again"),
    ({"hits": hit(id=1) + hit(id="1")}, "every id must occur once"),
    ({"hits": hit(score=float("nan"))}, "hits.0.score"),
    ({"hits": hit(score=float("inf"))}, "hits.0.score"),
    ({"hits": hit(score=1e300)}, "hits.0.score"),
    ({"hits": hit(score=None)}, "hits.0.score"),
    ({"hits": hit(text="")}, "hits.0.text"),
    ({"hits": hit(text="\x00")}, "hits.0.text"),
    ({"hits": hit(text="x" * 20_001)}, "hits.0.text"),
    ({"hits": hit(id="")}, "hits.0.id"),
    ({"hits": hit(id="x" * 201)}, "hits.0.id"),
    ({"hits": hit(id=None)}, "hits.0.id"),
    ({"hits": hit(id=True)}, "hits.0.id"),
    ({"hits": hit(surprise=1)}, "hits.0.surprise"),
    ({"combine": "sum"}, "combine"),
    ({"top_n": 0}, "top_n"),
    ({"deadline": 601}, "deadline"),
]


@pytest.mark.parametrize(("fields", "said"), BAD, ids=[f"{said}-{n}" for n, (_, said) in enumerate(BAD)])
def test_bad_input_names_the_field_and_the_rule(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        asked(**({"given": hit()} | ({"given": fields["hits"]} if "hits" in fields else fields)))
