"""How a search ends: what is missing, what it cost, and what it says when it has nothing."""

from typing import Any

import pytest

from querymill_shared.board import Outcome
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.notes import FailureNotes
from querymill_workers.retrievers.files.embed import ask_for_vectors
from tests.fixtures.code_base import ASKED, BASE, PROFILES, put
from tests.fixtures.world import World


@pytest.fixture
def code(world: World) -> World:
    put(world, BASE)
    world.with_ports(file_profiles=PROFILES)
    return world


def result_of(world: World, job_id: str) -> FileResult:
    result = world.result(job_id)
    assert isinstance(result, FileResult)
    return result


def fail_step(world: World, job_id: str, step: str, reason: str, *, dead: bool = False) -> None:
    claim = world.board.claim(job_id, step)
    assert claim is not None
    notes = FailureNotes(dead=dead).for_board()
    picture = world.board.finish(claim, Outcome(state="failed", reason=reason, notes=notes))
    assert picture is not None
    world.answer(*run_step.conclude(picture, world.ports))


@pytest.mark.parametrize(("dead", "state"), [(False, "failed"), (True, "dead")])
def test_a_search_without_any_result_is_failed_or_dead_with_its_reason(code: World, dead: bool, state: str) -> None:
    job_id = code.submit(ASKED)
    fail_step(code, job_id, "search-1-words", "its workers died", dead=dead)
    record = code.board.picture(job_id).record
    assert (record.state, record.reason) == (state, "no search came through: search-1-words: its workers died")


def test_an_evaluation_that_failed_is_named_and_the_plan_goes_on(code: World) -> None:
    job_id = code.submit(ASKED)
    bells = run_step.run_step(Bell(job_id, "search-1-words", ASKED.queue_of("search-1-words")), code.ports)
    assert [bell.step for bell in bells] == ["evaluate-1-01"]
    fail_step(code, job_id, "evaluate-1-01", "PostgreSQL: away")
    result = result_of(code, job_id)
    assert (result.results, result.files_read, result.stop) == ((), 0, "no new query")
    assert [(part.stage, part.reason) for part in result.degraded] == [("evaluate-1-01", "PostgreSQL: away")]


def test_a_plan_that_failed_ends_the_search_with_what_was_evaluated(code: World) -> None:
    job_id = code.submit(ASKED)
    for step in ("search-1-words", "evaluate-1-01"):
        run_step.run_step(Bell(job_id, step, ASKED.queue_of(step)), code.ports)
    fail_step(code, job_id, "plan-1", "PostgreSQL: away")
    result = result_of(code, job_id)
    assert result.results[0].path == "transport/redis.py"
    assert (result.stop, result.complete) == ("a step failed", False)


def test_a_context_that_cannot_be_fetched_by_the_deadline_is_named_and_the_files_are_returned(code: World) -> None:
    job_id = code.submit(ASKED.model_copy(update={"rounds": 1}))
    for step in ("search-1-words", "evaluate-1-01"):
        run_step.run_step(Bell(job_id, step, ASKED.queue_of(step)), code.ports)

    def away(*given: object) -> Any:
        raise Unavailable("PostgreSQL: away")

    code.files.contents = away  # type: ignore[method-assign, assignment]
    run_step.run_step(Bell(job_id, "plan-1", ASKED.queue_of("plan-1")), code.ports)
    assert not code.board.has_ended(job_id)
    run_step.settle_at_deadline(code.board.picture(job_id), code.ports)
    result = result_of(code, job_id)
    assert result.results[0].path == "transport/redis.py"
    assert (result.context, result.context_files) == ("", ())
    assert [(part.stage, part.reason) for part in result.degraded] == [("context", "PostgreSQL: away")]


def test_a_judge_that_has_no_time_left_is_not_asked(code: World) -> None:
    asked = ASKED.model_copy(update={"evaluator": "judge", "deadline": 10.0})
    job_id = code.submit(asked)
    run_step.run_step(Bell(job_id, "search-1-words", asked.queue_of("search-1-words")), code.ports)
    claim = code.board.claim(job_id, "evaluate-1-01")
    assert claim is not None
    assert claim.expires_at is not None
    almost_over = claim.expires_at - 0.2
    code.with_ports(clock=lambda: almost_over)
    code.answer(*run_step.flow_of(asked).step(claim, code.ports))
    assert code.judge.asked == []
    result = result_of(code, job_id)
    assert result.results[0].path == "transport/redis.py"
    assert result.degraded[0].reason == (
        "the default evaluator stands in: cut by the deadline before the judge was asked"
    )


def test_files_without_vectors_are_evaluated_by_their_words(code: World) -> None:
    ask_for_vectors("code", code.ports)
    asked = ASKED.model_copy(update={"channels": ("words", "vectors"), "rounds": 1})
    job_id = code.submit(asked)
    for step in asked.steps:
        run_step.run_step(Bell(job_id, step, asked.queue_of(step)), code.ports)
    code.embeddings.fails_with = Unavailable("embedding: away")
    code.ring(job_id, asked, "evaluate-1-01")
    result = result_of(code, job_id)
    assert result.results[0].path == "transport/redis.py"
    assert result.results[0].explanation["evidence"]["vector"] is None
    assert "judged by words alone: embedding: away" in [part.reason for part in result.degraded]


def test_the_relevance_can_be_computed_again_from_the_explanation(code: World) -> None:
    result = result_of(code, code.run(ASKED))
    for hit in result.results:
        explanation = hit.explanation
        assert explanation["formula"] == "bands(Σ weight × evidence)"
        total = sum(weight * explanation["evidence"][name] for name, weight in explanation["weights"].items())
        by_evidence = pytest.approx(min(total, 1.0), abs=1e-4)  # the bands of this profile are the identity
        assert explanation.get("by the evidence", hit.relevance) == by_evidence


def test_a_judged_file_says_so_and_shows_its_evidence(code: World) -> None:
    result = result_of(code, code.run(ASKED.model_copy(update={"evaluator": "judge", "rounds": 1})))
    assert {hit.explanation["formula"] for hit in result.results} == {"judged by a language model"}
    assert result.results[0].explanation["evidence"].keys() >= {"lexical", "vector"}
    assert "weights" not in result.results[0].explanation


def test_a_file_with_none_of_the_words_says_so(code: World) -> None:
    asked = FileSearch(query="zeppelin", collection="code", globs=("utils/*.py",), mode="oneshot")
    result = result_of(code, code.run(asked))
    assert {hit.why for hit in result.results} == {"none of the query's words"}


def test_rounds_sum_up_to_the_files_that_were_read(code: World) -> None:
    result = result_of(code, code.run(ASKED))
    assert sum(summary.evaluated for summary in result.rounds) == result.files_read
    assert all(sum(summary.bands.values()) == summary.evaluated for summary in result.rounds)
    assert [summary.round for summary in result.rounds] == [1, 2, 3]
