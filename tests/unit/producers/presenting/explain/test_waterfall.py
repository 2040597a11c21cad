"""The waterfall of a job, from what the board holds of it."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill.presenting.explain.bars import WAITS, Bar, merge_bars
from querymill.presenting.explain.waterfall import FUSE, Waterfall, alike, waterfall
from querymill_shared.board import AttemptPart, Outcome, Picture, Record, Step, Verdict
from querymill_shared.board.attempts import encode_facts
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fixtures.attempts import with_attempt
from tests.fixtures.boards import new_board

#: When the jobs of these tests were accepted, in seconds since the epoch.
T0 = 1_795_000_000.0


def record(**changed: Any) -> Record:
    plain = Record("a" * 32, "reports", "filings", "interactive", "done", T0, None, T0 + 2.28, "", 0)
    return replace(plain, **changed)


def step(name: str, queued: float, started: float, end: float, *parts: AttemptPart, **changed: Any) -> Step:
    """A step that was queued, started and ended so many ms after the job was accepted."""
    known = Step(
        name, "done", 1, started=T0 + started / 1000, ended=T0 + end / 1000, queued=T0 + queued / 1000,
        life="search@host#1", facts=encode_facts(changed.pop("code", None), parts),
    )  # fmt: skip
    return replace(known, **changed)


def put_back(past: str, number: int, queued: float, started: float, ended: float, cause: str, *parts: AttemptPart,
             code: Code | None = None, reason: str = "") -> str:  # fmt: skip
    """The past of a step with one more attempt."""
    at = [round(T0 * 1000 + ms) for ms in (queued, started, ended)]
    return with_attempt(past, number, at[0], at[1], "w#1", at[2], cause, reason, encode_facts(code, parts))


def picture(*steps: Step, **changed: Any) -> Picture:
    return Picture(record(**changed), steps, {}, {}, None)


def drawn(*steps: Step, now: float = 10_000, **changed: Any) -> Waterfall:
    return waterfall(picture(*steps, **changed), now=T0 + now / 1000)


ORIGINAL = step("original", 0, 20, 190, AttemptPart("embed", 100), AttemptPart("search", 70))
HYDE = step(
    "hyde", 0, 20, 2_240, AttemptPart("expand", 2_020, 400, 1), AttemptPart("embed", 60), AttemptPart("search", 140)
)


def shapes(bars: tuple[Bar, ...]) -> list[tuple[str, float, float]]:
    return [(bar.kind, round(bar.start), round(bar.end)) for bar in bars]


def test_a_row_shows_what_each_stretch_of_a_step_was_spent_on() -> None:
    (original, hyde, _) = drawn(ORIGINAL, HYDE).rows
    assert shapes(original.bars) == [("queue", 0, 20), ("embed", 20, 120), ("search", 120, 190)]
    assert shapes(hyde.bars) == [
        ("queue", 0, 20), ("limit", 20, 420), ("chat", 420, 2_040), ("embed", 2_040, 2_100), ("search", 2_100, 2_240),
    ]  # fmt: skip
    assert round(hyde.took_ms) == 2_240
    assert hyde.calls == 1


def test_what_follows_the_last_step_is_a_row_of_its_own() -> None:
    fuse = drawn(ORIGINAL, HYDE).rows[-1]
    assert (fuse.name, shapes(fuse.bars)) == (FUSE, [("fuse", 2_240, 2_280)])


def test_the_step_that_set_the_end_is_named_and_its_time_is_the_critical_path() -> None:
    found = drawn(ORIGINAL, HYDE)
    assert [row.name for row in found.rows if row.sets_end] == ["hyde"]
    assert [(stretch.step, stretch.bar.kind) for stretch in found.critical] == [
        ("hyde", "queue"), ("hyde", "limit"), ("hyde", "chat"), ("hyde", "embed"), ("hyde", "search"), (FUSE, "fuse"),
    ]  # fmt: skip


def test_a_step_that_was_added_waits_for_the_one_before_it() -> None:
    answer = step("answer", 195, 200, 1_500, AttemptPart("write", 1_300, 0, 1))
    found = drawn(ORIGINAL, answer, ended=T0 + 1.5)
    assert [(stretch.step, stretch.bar.kind) for stretch in found.critical] == [
        ("original", "queue"), ("original", "embed"), ("original", "search"), ("", "other"), ("answer", "queue"),
        ("answer", "chat"),
    ]  # fmt: skip
    assert found.first_hits == 190


def test_a_step_that_was_put_back_shows_each_attempt() -> None:
    past = put_back(
        "", 1, 0, 10, 510, "outages", AttemptPart("expand", 500, 0, 1), code="provider_down", reason="no reply"
    )
    synonym = step("synonym", 1_010, 1_020, 1_900, AttemptPart("expand", 880, 0, 1), attempt=2, past=past)
    (row, _) = drawn(synonym).rows
    assert shapes(row.bars) == [
        ("queue", 0, 10), ("chat", 10, 510), ("put_back", 510, 1_010), ("queue", 1_010, 1_020), ("chat", 1_020, 1_900),
    ]  # fmt: skip
    assert [(tried.attempt.outcome, tried.calls) for tried in row.attempts] == [("outage", 1), ("done", 1)]


def test_the_silence_of_a_worker_that_died_lasts_until_it_was_noticed() -> None:
    past = put_back("", 1, 0, 10, 4_010, "deaths")
    found = drawn(
        step("original", 4_010, 4_030, 4_200, AttemptPart("search", 170), attempt=2, past=past), ended=T0 + 4.2
    )
    assert shapes(found.rows[0].bars) == [
        ("queue", 0, 10), ("lost", 10, 4_010), ("queue", 4_010, 4_030), ("search", 4_030, 4_200),
    ]  # fmt: skip


def test_a_step_that_runs_is_one_bar_until_now() -> None:
    running = step("hyde", 0, 20, 0, state="running", ended=None)
    found = drawn(running, now=1_000, state="running", ended=None)
    assert shapes(found.rows[0].bars) == [("queue", 0, 20), ("running", 20, 1_000)]
    assert (found.axis_ms, found.axis_end, found.ended) == (1_000, "now", None)


def test_a_step_that_waits_is_put_back_and_then_queued_until_now() -> None:
    past = put_back("", 1, 0, 10, 100, "outages")
    waiting = step("hyde", 600, 10, 0, state="waiting", ended=None, past=past)
    found = drawn(waiting, now=1_000, state="running", ended=None)
    assert shapes(found.rows[0].bars)[-2:] == [("put_back", 100, 600), ("queue", 600, 1_000)]


def test_a_step_that_never_closed_goes_to_the_end_of_the_job() -> None:
    running = step("hyde", 0, 20, 0, state="running", ended=None)
    found = drawn(ORIGINAL, running, ended=T0 + 3, deadline=T0 + 3)
    assert found.rows[1].end == 3_000
    assert [row.name for row in found.rows] == ["original", "hyde"]
    assert [row.name for row in found.rows if row.sets_end] == ["hyde"]


@pytest.mark.parametrize("state", ["running", "waiting"])
def test_a_step_that_never_closed_is_stopped_when_its_job_ends(state: Any) -> None:
    begun = step("hyde", 0, 20, 0, state=state, ended=None)
    assert [row.state for row in drawn(ORIGINAL, begun, ended=None, state="running").rows] == ["done", state]
    assert [row.state for row in drawn(ORIGINAL, begun, ended=T0 + 3, state="cancelled").rows] == ["done", "stopped"]


def test_the_axis_ends_at_a_deadline_that_is_not_far_away() -> None:
    assert (drawn(ORIGINAL, HYDE, deadline=T0 + 3).axis_end, drawn(ORIGINAL, HYDE, deadline=T0 + 3).axis_ms) == (
        "deadline", 3_000,
    )  # fmt: skip
    assert drawn(ORIGINAL, HYDE, deadline=T0 + 30).axis_end == "end"


def test_more_than_five_steps_of_one_name_are_one_row_with_failed_ones_first() -> None:
    batches = [
        step(f"batch-{number:02}", 0, number, 100 + number, AttemptPart("judge", 100)) for number in range(1, 21)
    ]
    batches[7] = replace(batches[7], state="failed", reason="no reply", facts=encode_facts("provider_down", ()))
    row, _ = drawn(*batches).rows
    assert (row.name, row.failed, row.state, row.sets_end) == ("batch × 20", 1, "failed", True)
    assert row.folded[0].name == "batch-08"
    assert len(row.folded) == 20
    assert shapes(row.bars)[0] == ("queue", 0, 1)
    assert len(drawn(*batches[:5]).rows) == 6


def test_a_long_time_without_any_work_is_cut_out_with_its_cause() -> None:
    hours = 2 * 3_600_000 + 14 * 60_000
    past = put_back(
        "", 1, 0, 10, 60, "outages", AttemptPart("search", 50), code="store_down", reason="PostgreSQL: Away"
    )
    ingest = step("ingest", hours, hours + 10, hours + 900, AttemptPart("store", 890), attempt=2, past=past)
    found = drawn(ingest, ended=T0 + hours / 1000 + 0.9)
    assert found.cut is not None
    assert (found.cut.code, found.cut.reason) == ("store_down", "PostgreSQL: Away")
    assert round(found.cut.end - found.cut.start) == hours - 50
    assert found.place(60) < 0.1
    assert found.place(hours + 900) == 1
    assert drawn(ORIGINAL, HYDE).cut is None


def test_a_wait_of_seconds_is_drawn_as_long_as_it_was() -> None:
    # 6.39 of 6.6 s in the queue: the wait that the job is about takes 97 % of the width, not the 4 % of a cut.
    found = drawn(step("original", 0, 6_390, 6_600, AttemptPart("search", 200)), ended=T0 + 6.6)
    (wait, *_) = found.rows[0].bars
    assert (wait.kind, found.cut) == ("queue", None)
    assert found.place(wait.end) - found.place(wait.start) == pytest.approx(0.968, abs=0.001)


@pytest.mark.parametrize(
    ("name", "part", "kind"),
    [
        ("embed", "embeddings", "embed"),
        ("hyde", "chat", "chat"),
        ("answer", "chat", "chat"),
        ("rerank-03", "chat", "rerank"),
        ("rerank-03", "rerank", "rerank"),
        ("judge", "chat", "rerank"),
    ],
)
def test_a_provider_that_hung_has_its_time_to_its_name(name: str, part: str, kind: str) -> None:
    hung = step(name, 0, 10, 60_010, AttemptPart(part, 59_500, 0, 3), AttemptPart("work", 500))
    row, *_ = drawn(hung, ended=T0 + 60.01).rows
    assert [(bar.kind, round(bar.ms)) for bar in row.bars[1:]] == [(kind, 59_500), ("other", 500)]


def test_parts_that_come_to_more_than_the_time_of_the_board_are_scaled() -> None:
    (row, *_) = drawn(step("original", 0, 20, 120, AttemptPart("embed", 100), AttemptPart("search", 100, 50))).rows
    assert shapes(row.bars)[1:] == [("embed", 20, 70), ("limit", 70, 95), ("search", 95, 120)]


def test_a_step_may_have_no_queue_and_no_parts() -> None:
    old = Step("original", "done", 1, started=T0 + 0.02, ended=T0 + 0.19)
    (row, _) = drawn(old).rows
    assert shapes(row.bars) == [("other", 20, 190)]


def test_names_are_alike_but_for_their_numbers() -> None:
    assert {alike(name) for name in ("batch-01", "batch-20")} == {"batch"}
    assert alike("hyde") == "hyde"
    assert alike("42") == "42"


def test_the_waterfall_of_a_real_job_holds_what_its_steps_did() -> None:
    board = new_board()
    job_id, _ = board.submit(ReportSearch(query="q", collection="filings"))
    (claim,) = board.claim_steps(job_id, "original", life="w#1", limit=1).held
    board.finish(claim, Outcome(parts=(AttemptPart("search", 0.001),)))
    board.settle(job_id, Verdict("done", result="{}"))
    found = waterfall(board.picture(job_id), now=T0)
    assert found.rows[0].state == "done"
    assert found.ended is not None


parts = st.builds(
    AttemptPart, st.sampled_from(["expand", "embed", "search", "odd"]), st.floats(0, 5_000), st.floats(0, 9_000)
)
causes = st.sampled_from(["outages", "failures", "conflicts", "deaths", "pauses"])


@st.composite
def steps(draw: st.DrawFn, name: str) -> Step:
    """A step with any times: the clocks of workers and the board may differ, and a retry overwrites what was known."""
    past = ""
    at = draw(st.floats(0, 3_000))
    for number in range(1, draw(st.integers(1, 4))):
        moments = [at + draw(st.floats(-5, 3_000)) for _ in range(3)]
        past = put_back(past, number, *moments, draw(causes), *draw(st.lists(parts, max_size=3)))  # type: ignore[arg-type]  # three moments
        at = moments[2]
    state = draw(st.sampled_from(["done", "failed", "running", "waiting"]))
    queued, started, ended = (at + draw(st.floats(-5, 3_000)) for _ in range(3))
    known = step(name, queued, started, ended, *draw(st.lists(parts, max_size=4)), state=state, past=past)
    known = replace(known, attempt=past.count("\n") + 2)
    if state in ("running", "waiting"):
        known = replace(known, ended=None)
    return known if draw(st.booleans()) else replace(known, queued=None)


@given(st.data())
def test_the_bars_of_any_job_follow_each_other_and_add_up(data: st.DataObject) -> None:
    listed = [data.draw(steps(f"step {chr(97 + place)}")) for place in range(data.draw(st.integers(1, 7)))]
    ended = data.draw(st.none() | st.floats(0, 20_000))
    over = record(state="running", ended=None) if ended is None else record(ended=T0 + ended / 1000)
    found = waterfall(Picture(over, tuple(listed), {}, {}, None), now=T0 + 15)
    for row in (each for shown in found.rows for each in (shown, *shown.folded)):
        assert all(bar.ms > 0 and bar.start >= 0 for bar in row.bars)
        assert all(bar.end <= found.axis_ms + 0.01 for bar in row.bars)
        if not row.folded:
            assert abs(sum(bar.ms for bar in row.bars) - row.took_ms) < 0.01
        assert all(a.end <= b.start + 0.001 for a, b in pairwise(row.bars))
        assert [bar for tried in row.attempts for bar in tried.bars] == list(row.bars)[: sum(
            len(tried.bars) for tried in row.attempts
        )]  # fmt: skip
    path = found.critical
    assert all(abs(a.bar.end - b.bar.start) < 0.01 for a, b in pairwise(path))
    if path:
        assert abs(path[-1].bar.end - found.now) < 0.01
        assert sum(row.sets_end for row in found.rows) <= 1
    totals = sum(found.totals.values())
    assert abs(totals - sum(bar.ms for row in found.rows for each in (row.folded or (row,)) for bar in each.bars)) < 0.1
    places = [found.place(ms) for ms in (0, found.axis_ms / 3, found.axis_ms)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= 1.000001


@given(st.lists(st.tuples(st.sampled_from(["chat", "queue", "search"]), st.integers(0, 50), st.integers(1, 50))))
def test_merged_bars_never_overlap_and_show_work_before_waiting(spans: list[tuple[Any, int, int]]) -> None:
    bars = [Bar(kind, start, start + length) for kind, start, length in spans]
    merged = merge_bars(bars)
    assert all(a.end <= b.start for a, b in pairwise(merged))
    for moment in range(100):
        there = {bar.kind for bar in bars if bar.start <= moment < bar.end}
        shown = {bar.kind for bar in merged if bar.start <= moment < bar.end}
        assert len(shown) == bool(there)
        assert shown <= there
        assert not (shown and shown <= WAITS and there - WAITS)


def test_rows_stand_in_the_order_in_which_their_work_began() -> None:
    late = step("evaluate-1", 300, 310, 400, AttemptPart("judge", 80))
    later = step("evaluate-2", 700, 710, 800, AttemptPart("judge", 80))
    between = step("plan-1", 400, 410, 600, AttemptPart("fuse", 150))
    first = step("search-1", 0, 20, 290, AttemptPart("search", 200))
    assert [row.name for row in drawn(late, later, between, first).rows][:4] == [
        "search-1", "evaluate-1", "plan-1", "evaluate-2",
    ]  # fmt: skip


def test_branches_that_were_queued_together_keep_their_order() -> None:
    assert [row.name for row in drawn(HYDE, ORIGINAL).rows][:2] == ["hyde", "original"]


def test_a_step_that_nobody_ran_is_no_row_unless_it_failed() -> None:
    """It holds how a branch ended, whose own steps are drawn."""
    branch = replace(ORIGINAL, name="original/search")
    ended = Step("original", "done", 0, ended=T0 + 0.19)
    assert [row.name for row in drawn(branch, ended, ended=T0 + 0.19).rows] == ["original/search"]
    failed = replace(ended, state="failed", reason="PostgreSQL is away")
    assert "original" in [row.name for row in drawn(branch, failed, ended=T0 + 0.19).rows]
