from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board import Picture, Step
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.stages import (
    TELL_EVERY_S,
    Laps,
    missing,
    stage,
    timing,
    used,
    worth_telling,
)
from tests.fakes.jobs import Clock, CommonPorts, picture_of

REQUEST = ReportSearch(query="q", collection="filings", hyde=True)


def step(name: str = "original", state: Any = "done", **fields: Any) -> Step:
    return Step(name, state, 1, **fields)


def pictured(*steps: Step, created: float = 0.0, told: float | None = None) -> Picture:
    picture = picture_of(REQUEST, *steps)
    return replace(picture, record=replace(picture.record, created=created, told=told))


def test_each_part_that_is_not_done_is_missing_with_its_reason() -> None:
    steps = [
        step("original"),
        step("hyde", "failed", reason="chat model: HTTP 503"),
        step("synonym", "running"),
        step("variant", "waiting", reason="embedding unavailable"),
    ]
    assert missing(steps) == (
        Degradation(stage="hyde", reason="chat model: HTTP 503"),
        Degradation(stage="synonym", reason="cut by the deadline", code="deadline"),
        Degradation(stage="variant", reason="embedding unavailable"),
    )


def test_nothing_is_missing_of_what_is_done() -> None:
    assert missing([step(), step("hyde", reason="an earlier attempt failed")]) == ()
    assert missing([]) == ()


@given(st.lists(st.tuples(st.sampled_from(["waiting", "running", "done", "failed"]), st.text(max_size=4))))
def test_a_step_is_missing_or_done(steps: list[tuple[str, str]]) -> None:
    made = [step(str(number), state, reason=reason) for number, (state, reason) in enumerate(steps)]
    named = [part.stage for part in missing(made)]
    assert named == [each.name for each in made if each.state != "done"]
    assert all(part.reason for part in missing(made))


@pytest.mark.parametrize(
    ("told", "ended", "worth"),
    [(None, 5.0, True), (5.0, 5.0, False), (5.0, 5.0 + TELL_EVERY_S / 2, False), (5.0, 5.5, True), (None, None, True)],
)
def test_steps_that_end_together_report_the_ranking_once(told: float | None, ended: float | None, worth: bool) -> None:
    assert worth_telling(pictured(step(ended=ended), step("hyde", "running"), told=told)) is worth


def test_a_stage_shows_how_long_a_step_ran_and_what_it_noted() -> None:
    shown = stage(step(started=10.0, ended=10.25, notes={"timing": {"embed": 3.5}, "usage": {"tokens": 1}}))
    assert (shown.name, shown.state, shown.attempt, shown.ms) == ("original", "done", 1, 250.0)
    assert shown.timing == {"embed": 3.5}
    assert shown.reason is None


@pytest.mark.parametrize("moments", [{}, {"started": 10.0}, {"ended": 10.0}])
def test_a_step_that_has_not_run_from_start_to_end_has_no_duration(moments: dict[str, Any]) -> None:
    assert stage(step(state="running", **moments)).ms is None


def test_a_failed_step_shows_its_reason() -> None:
    shown = stage(step(state="failed", reason="HTTP 400", notes={"dead": False}))
    assert (shown.state, shown.reason, shown.timing) == ("failed", "HTTP 400", {})


def test_times_count_from_the_submission() -> None:
    steps = [step(started=101.0, ended=103.0), step("hyde", started=100.5, ended=102.0)]
    assert timing(pictured(*steps, created=100.0)) == {
        "queued_ms": 500.0,
        "first_branch_ms": 2000.0,
        "last_branch_ms": 3000.0,
    }


def test_what_did_not_happen_has_no_time() -> None:
    assert timing(pictured(step(state="waiting"))) == {}
    assert timing(pictured(step(state="running", started=1.0))) == {"queued_ms": 1000.0}


def test_usage_is_added_up_over_all_steps() -> None:
    steps = [
        step(notes={"usage": {"provider_calls": 1, "tokens": 10}}),
        step("hyde", notes={"usage": {"provider_calls": 2, "tokens": 5}, "timing": {}}),
        step("variant", "failed", notes={"dead": False}),
    ]
    assert used(pictured(*steps)) == {"provider_calls": 3, "tokens": 15}


def test_the_tokens_of_an_answer_are_told_where_they_are_known() -> None:
    steps = [
        step(notes={"usage": {"provider_calls": 1, "tokens": 10}}),
        step("answer", notes={"usage": {"provider_calls": 1, "tokens": 30, "completion_tokens": 7}}),
    ]
    assert used(pictured(*steps)) == {"provider_calls": 2, "tokens": 40, "completion_tokens": 7}


def test_usage_of_steps_that_called_nothing_is_zero() -> None:
    assert used(pictured(step(state="waiting"))) == {"provider_calls": 0, "tokens": 0}


def test_laps_time_each_phase_from_the_end_of_the_one_before() -> None:
    clock = Clock()
    laps = Laps(CommonPorts(clock=clock))
    clock.now += 0.5
    laps.lap("route")
    clock.now += 0.25
    laps.lap("embed")
    clock.now += 1.0
    assert laps.ms == {"route": 500.0, "embed": 250.0}
    assert laps.total_ms == 1750.0
