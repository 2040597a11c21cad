from io import StringIO
from typing import Any

from querymill.cli.terminal import Console
from querymill.fleet import tables

COUNTS = {
    "budget_granted/interactive": 3.0, "budget_granted/bulk": 1.0, "budget_waited_ms/interactive": 80.0,
    "budget_refused/bulk": 2.0, "provider_calls/answered": 1_234.0, "provider_calls/limited": 5.0,
    "batched_texts": 60.0, "batch_size/32": 4.0, "breaker_opened": 1.0, "vector_hit": 7.0,
}  # fmt: skip


NOTHING: dict[str, Any] = {
    "workers": [], "jobs": {}, "leases_lost": 0, "dead_letters": 0, "queues": [], "providers": [], "counts": {},
}  # fmt: skip


def printed(fleet: dict[str, Any]) -> str:
    console = Console(file=StringIO(), width=120)
    for table in tables(NOTHING | fleet):
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


def test_a_provider_shows_what_was_learned_of_it_and_what_it_said_last() -> None:
    found = [{"what": "refuses temperature", "address": "http://a", "at": 1.0}]
    state = {"model": "m", "breaker": "closed", "failures": 0, "paused_s": 0.0, "learned": found, "address": "http://a"}
    said = {"what": "HTTP 429, no quota left", "step": "", "job_id": "", "at": 0.0, "address": "http://a"}
    shown = printed({"providers": [state], "refusals": {"m": [said]}, "counts": {}})
    assert "m http://a closed 0 no refuses temperature" in shown
    assert "m http://a HTTP 429, no quota left 1970-01-01 00:00:00+00:00" in shown
    unnamed = printed({"providers": [state | {"model": ""}], "refusals": {"": [said]}, "counts": {}})
    assert "(no name) http://a closed 0" in unnamed
    assert "(no name) http://a HTTP 429" in unnamed


def test_a_provider_shows_its_breaker_and_its_pause() -> None:
    state = {"model": "gpt [x]", "breaker": "open", "failures": 5, "paused_s": 2.25}
    assert "gpt [x] open 5 2.2 s" in printed({"providers": [state], "counts": {}})
    assert "closed 0 no" in printed(
        {"providers": [state | {"breaker": "closed", "failures": 0, "paused_s": 0}], "counts": {}}
    )


def test_jobs_are_listed_by_how_they_ended_and_how_long_they_took() -> None:
    seconds = {"mean": 0.3, "half_within": 0.25, "95_percent_within": None}
    jobs = {"reports": {"submitted": 1_204, "ended": {"done": 1_200, "dead": 1}, "incomplete": 7,
                        "seconds": seconds},
            "embed": {"submitted": 1, "ended": {}, "incomplete": 0}}  # fmt: skip
    shown = printed({"jobs": jobs, "leases_lost": 3, "dead_letters": 1})
    assert "reports 1,204 1,200 7 0 0 1 0.25 s longer" in shown
    assert "embed 1 0 0 0 0 0" in shown
    assert "steps taken from dead workers: 3 · dead letters: 1" in shown


def test_what_failed_by_a_mistake_of_its_caller_has_a_column_if_there_is_any() -> None:
    jobs = {"show_document": {"submitted": 3, "ended": {"done": 1, "not_found": 2}, "incomplete": 0}}
    shown = printed({"jobs": jobs})
    assert "jobs submitted done incomplete failed cancelled dead not found half" in shown
    assert "show_document 3 1 0 0 0 0 2" in shown


def test_queues_show_their_workers_and_steps() -> None:
    queues = [
        {"queue": "search", "workers": 2, "slots": 32, "running": 31, "waiting": 1_200, "oldest_s": 61.25},
        {"queue": "embed", "workers": 0, "slots": 0, "running": 0, "waiting": 0, "oldest_s": None},
    ]
    shown = printed({"queues": queues})
    assert "queue workers slots running waiting oldest search 2 32 31 1,200 61.2 s embed 0 0 0 0" in shown


def test_workers_are_named_or_missed() -> None:
    worker = {"name": "search@[x]", "slots": 64, "pid": 7, "queues": ["search", "expand"]}
    assert "search@[x] 64 7 search, expand" in printed({"workers": [worker]})
    assert "no worker is alive" in printed({})
