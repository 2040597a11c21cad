from io import StringIO
from typing import Any

from querymill.cli.terminal import Console
from querymill.fleet import tables

COUNTS = {
    "budget_granted/interactive": 3.0, "budget_granted/bulk": 1.0, "budget_waited_ms/interactive": 80.0,
    "budget_refused/bulk": 2.0, "provider_calls/answered": 1_234.0, "provider_calls/limited": 5.0,
    "batched_texts": 60.0, "batch_size/32": 4.0, "breaker_opened": 1.0, "vector_hit": 7.0,
}  # fmt: skip


def printed(fleet: dict[str, Any]) -> str:
    console = Console(file=StringIO(), width=120)
    for table in tables(fleet):
        console.print(table)
    out = console.file
    assert isinstance(out, StringIO)
    return " ".join(out.getvalue().split())


def test_figures_are_summed_over_lanes_and_averaged_over_grants() -> None:
    shown = printed({"providers": [], "counts": COUNTS})
    assert "granted 4, after 20 ms on average" in shown
    assert "no call could start in time 2" in shown
    assert "answered / failed / 429 1,234 / 0 / 5" in shown
    assert "texts per embedding request 15.0" in shown
    assert "breaker opened / pauses 1 / 0" in shown
    assert "7 in the fleet's cache" in shown


def test_a_fleet_that_has_done_nothing_divides_by_nothing() -> None:
    shown = printed({"providers": [], "counts": {}})
    assert "granted 0, after 0 ms on average" in shown


def test_a_provider_shows_its_breaker_and_its_pause() -> None:
    state = {"model": "gpt [x]", "breaker": "open", "failures": 5, "paused_s": 2.25}
    assert "gpt [x] open 5 2.2 s" in printed({"providers": [state], "counts": {}})
    assert "closed 0 no" in printed(
        {"providers": [state | {"breaker": "closed", "failures": 0, "paused_s": 0}], "counts": {}}
    )
