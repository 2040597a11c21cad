"""The time of a provider's calls is told from a step's own, whether they succeed, fail or are cut."""

import time

import pytest

from querymill_shared.board import AttemptPart
from querymill_workers.jobs.job_counts import StepCounts


def parts_of(counts: StepCounts) -> list[tuple[str, float]]:
    return [(part.what, round(part.ms / 1000, 1)) for part in counts.close()]


@pytest.fixture
def counts() -> StepCounts:
    """Counts of a step that began ten seconds ago."""
    return StepCounts("j", "embed", began=time.monotonic() - 10)


def test_what_a_call_took_is_a_part_by_its_name(counts: StepCounts) -> None:
    counts.begin_call("embeddings")
    counts._calling_since -= 9
    counts.end_call()
    counts.calls = 2
    assert [(part.what, part.calls) for part in counts.close()] == [("embeddings", 2), ("work", 0)]
    assert [round(part.ms / 1000) for part in counts.parts] == [9, 1]


def test_calls_at_the_same_time_take_it_once(counts: StepCounts) -> None:
    counts.begin_call("chat")
    counts.begin_call("chat")
    counts._calling_since -= 4
    counts.end_call()
    counts.end_call()
    assert parts_of(counts) == [("chat", 4.0), ("work", 6.0)]


def test_a_call_that_goes_on_counts_until_the_step_ends(counts: StepCounts) -> None:
    counts.begin_call("chat")
    counts._calling_since -= 30
    assert parts_of(counts) == [("chat", 10.0)]


def test_a_part_that_was_named_keeps_its_time(counts: StepCounts) -> None:
    counts.begin_call("chat")
    counts._calling_since -= 8
    counts.end_call()
    counts.close_part("expand", 8_000)
    assert parts_of(counts) == [("expand", 8.0), ("work", 2.0)]
    assert counts.parts[0] == AttemptPart("expand", 8_000)
