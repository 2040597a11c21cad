"""Where bars stand, and that the numbers say all that they show."""

import doctest
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from querymill.gateway.console import drawing
from querymill.gateway.console.drawing import draw
from querymill.presenting.explain.bars import Bar
from querymill.presenting.explain.waterfall import waterfall
from querymill_shared.board import AttemptPart, Picture, Record, Step
from querymill_shared.board.attempts import encode_facts

T0 = 1_795_000_000.0


def step(name: str, started: float, ended: float, *parts: AttemptPart) -> Step:
    facts = encode_facts(None, parts)
    return Step(name, "done", 1, started=T0 + started, ended=T0 + ended, queued=T0, life="w#1", facts=facts)


def picture(*steps: Step, took_s: float = 2.0, deadline_s: float | None = None) -> Picture:
    deadline = None if deadline_s is None else T0 + deadline_s
    record = Record("a" * 32, "reports", "c", "interactive", "done", T0, deadline, T0 + took_s, "", 0)
    return Picture(record, steps, {}, {}, None)


def test_the_example_holds() -> None:
    assert doctest.testmod(drawing, extraglobs={"Bar": Bar}).failed == 0


def test_bars_stand_where_their_time_was() -> None:
    drawn = draw(waterfall(picture(step("hyde", 0.5, 2.0, AttemptPart("expand", 1500, 500, 1))), now=T0 + 9))
    (row,) = drawn.rows
    assert [(piece.css, piece.x, piece.width) for piece in row.pieces] == [
        ("queue", 0.0, 25.0), ("limit", 25.0, 25.0), ("chat", 50.0, 50.0),
    ]  # fmt: skip
    assert row.pieces[1].fill == "url(#hatch)"
    assert row.spent == "queue 0.50 s · limit 0.50 s · chat model 1.00 s"
    assert [mark.label for mark in drawn.marks] == ["0", "0.5 s", "1 s", "1.5 s", "2 s"]


def test_a_deadline_within_the_axis_is_a_line() -> None:
    assert draw(waterfall(picture(step("a", 0, 2.0), deadline_s=4.0), now=T0)).deadline_x == 100.0
    assert draw(waterfall(picture(step("a", 0, 2.0), deadline_s=30.0), now=T0)).deadline_x is None


def test_an_outage_is_cut_out_and_said() -> None:
    steps = step("a", 0.0, 1.0, AttemptPart("search", 1000)), replace(step("b", 8000.0, 8001.0), queued=T0 + 8000)
    drawn = draw(waterfall(picture(*steps, took_s=8001.0), now=T0))
    assert "2 h 13 min without any work are not drawn" in drawn.cut
    assert drawn.gap == (48.0, 4.0)
    assert [mark.label for mark in drawn.marks if mark.label.startswith("⫽")] == ["⫽ 2 h 13 min"]
    before, after = (row.pieces[-1] for row in drawn.rows)
    assert before.x + before.width <= 48.0
    assert after.x >= 52.0


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4)), min_size=1, max_size=8), st.floats(0.001, 2e4))
def test_no_bar_leaves_the_drawing(times: list[tuple[float, float]], took_s: float) -> None:
    steps = [
        step(f"s{number}", min(pair), max(pair), AttemptPart("search", 5.0, 1.0)) for number, pair in enumerate(times)
    ]
    drawn = draw(waterfall(picture(*steps, took_s=took_s), now=T0))
    for row in drawn.rows:
        for piece in row.pieces:
            assert piece.x >= 0
            assert piece.width > 0
            assert piece.x + piece.width <= 100.5
