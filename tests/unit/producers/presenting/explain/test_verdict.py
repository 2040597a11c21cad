"""Where the time of a job went: a test for each sentence."""

from typing import Any

import pytest

from querymill.presenting.explain.verdict import verdict
from querymill.presenting.numbers import duration
from querymill_shared.board import AttemptPart
from tests.unit.producers.presenting.explain.test_waterfall import HYDE, ORIGINAL, T0, drawn, put_back, step


def said(*steps: Any, **changed: Any) -> str:
    return verdict(drawn(*steps, **changed)).sentence


def test_the_largest_part_and_the_next_one_are_named() -> None:
    # The example of the console's page: hyde waited for the model's reply, and before that for its limit.
    slow = step("hyde", 0, 20, 2_240, AttemptPart("expand", 2_180, 600, 1), AttemptPart("search", 40))
    found = verdict(drawn(ORIGINAL, slow))
    assert found.sentence == (
        "hyde waited 1.58 s for the chat model's reply and 0.60 s for the chat model's limit: 96 % of the time."
    )
    assert (found.word, [share.whose for share in found.shares]) == ("slow", ["provider", "limit"])


def test_a_second_part_under_a_fifth_is_not_named() -> None:
    assert said(ORIGINAL, HYDE) == "hyde waited 1.62 s for the chat model's reply: 71 % of the time."


def test_under_300_ms_a_job_is_fast_and_nothing_else_is_said() -> None:
    assert verdict(drawn(ORIGINAL, ended=T0 + 0.25)).sentence == "fast"


def one(*parts: AttemptPart, queued: float = 0, started: float = 0, end: float = 1_000) -> str:
    return said(step("original", queued, started, end, *parts), ended=T0 + end / 1000)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([AttemptPart("embed", 1_000)], "original waited 1.00 s for the embedding model's reply: 100 % of the time."),
        (
            [AttemptPart("embed", 1_000, 900)],
            "original waited 0.90 s for the embedding model's limit: 90 % of the time.",
        ),
        ([AttemptPart("judge", 1_000)], "original waited 1.00 s for the judge's reply: 100 % of the time."),
        ([AttemptPart("judge", 1_000, 900)], "original waited 0.90 s for the judge's limit: 90 % of the time."),
        ([AttemptPart("odd", 1_000, 900)], "original waited 0.90 s for the provider's limit: 90 % of the time."),
        ([AttemptPart("search", 1_000)], "original searched for 1.00 s: 100 % of the time."),
        ([AttemptPart("words", 1_000)], "original searched for 1.00 s: 100 % of the time."),
        ([AttemptPart("vectors", 1_000)], "original waited 1.00 s for the embedding model's reply: 100 % of the time."),
        ([AttemptPart("store", 1_000)], "original worked for 1.00 s: 100 % of the time."),
        ([AttemptPart("score", 1_000)], "original worked for 1.00 s: 100 % of the time."),
        (
            [AttemptPart("search", 500), AttemptPart("embed", 500)],
            "original searched for 0.50 s and waited 0.50 s for the embedding model's reply: 100 % of the time.",
        ),
    ],
)
def test_each_part_of_a_step_has_its_sentence(parts: list[AttemptPart], sentence: str) -> None:
    assert one(*parts) == sentence


@pytest.mark.parametrize(("name", "model"), [("answer", "chat model"), ("judge", "judge")])
def test_a_call_that_the_deadline_cut_is_the_time_of_the_model_that_was_called(name: str, model: str) -> None:
    cut = step(name, 0, 0, 60_000, AttemptPart("work", 60_000, 11_000, 2), state="failed")
    assert said(cut, ended=T0 + 60) == f"{name} waited 49.0 s for the {model}'s reply: 82 % of the time."


def test_a_step_that_waited_for_a_worker() -> None:
    assert one(AttemptPart("search", 100), started=900) == "original waited 0.90 s for a free worker: 90 % of the time."


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("limit", "because the provider's limit left no call"),
        ("provider_down", "because the provider did not respond"),
        ("provider_refused", "because the provider's reply was of no use"),
        ("store_down", "because a store was away"),
        ("pending", "because other work had to come first"),
        ("bug", "after an internal error"),
        (None, "after one that failed"),
    ],
)
def test_a_step_that_was_put_back(code: Any, why: str) -> None:
    past = put_back("", 1, 0, 0, 10, "outages", AttemptPart("search", 10), code=code)
    again = step("original", 990, 990, 1_000, AttemptPart("search", 10), attempt=2, past=past)
    assert said(again, ended=T0 + 1) == f"original waited 0.98 s for its next attempt {why}: 98 % of the time."


def test_a_step_whose_worker_was_lost() -> None:
    past = put_back("", 1, 0, 0, 3_900, "deaths")
    again = step("original", 3_900, 3_900, 4_000, AttemptPart("search", 100), attempt=2, past=past)
    sentence = "original waited 3.90 s until its worker was known to be lost: 98 % of the time."
    assert said(again, ended=T0 + 4) == sentence


def test_ranking_the_hits() -> None:
    assert said(ORIGINAL, ended=T0 + 1.9) == "ranking the hits took 1.71 s: 90 % of the time."


def test_the_time_between_two_steps() -> None:
    answer = step("answer", 1_800, 1_800, 1_900, AttemptPart("write", 100))
    assert (
        said(ORIGINAL, answer, ended=T0 + 1.9) == "the change from one step to the next took 1.61 s: 85 % of the time."
    )


def test_two_steps_are_both_named() -> None:
    answer = step("answer", 190, 190, 400, AttemptPart("write", 210))
    assert said(step("original", 0, 0, 190, AttemptPart("search", 190)), answer, ended=T0 + 0.4) == (
        "answer waited 0.21 s for the chat model's reply, and original searched for 0.19 s: 100 % of the time."
    )


def test_of_a_job_that_goes_on_it_is_said_so_far() -> None:
    running = step("hyde", 0, 0, 0, state="running", ended=None)
    found = verdict(drawn(running, now=1_000, state="running", ended=None))
    assert (found.word, found.sentence) == ("so far", "hyde has been running for 1.00 s: 100 % of the time.")


def test_of_a_job_without_steps_nothing_is_known() -> None:
    assert said() == "Nothing is known of its steps."


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"), (12.4, "12 ms"), (99.4, "99 ms"), (310, "0.31 s"), (9_990, "9.99 s"), (41_200, "41.2 s"),
        (130_000, "2 min 10 s"), (8_040_000, "2 h 14 min"), (-3, "0 ms"),
    ],
)  # fmt: skip
def test_durations_are_written_as_people_read_them(ms: float, text: str) -> None:
    assert duration(ms) == text
