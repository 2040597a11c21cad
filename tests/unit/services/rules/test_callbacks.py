"""When a message to a caller is accepted, and when it is sent again."""

import doctest

import pytest

from querymill_workers.services.rules import callbacks
from querymill_workers.services.rules.callbacks import is_accepted, outcome_of, read_retry_after, wait_s, wants_no_more


def test_the_examples_hold() -> None:
    assert doctest.testmod(callbacks).attempted > 0
    assert doctest.testmod(callbacks).failed == 0


@pytest.mark.parametrize(
    ("status", "accepted", "outcome"),
    [
        (200, True, "answered"), (204, True, "answered"), (302, False, "rejected"), (404, False, "rejected"),
        (410, False, "rejected"), (429, False, "limited"), (503, False, "failed"), (0, False, "failed"),
    ],
)  # fmt: skip
def test_a_status_accepts_the_message_or_not(status: int, accepted: bool, outcome: str) -> None:
    assert (is_accepted(status), outcome_of(status)) == (accepted, outcome)
    assert wants_no_more(status) == (status == 410)


def test_what_is_waited_grows_to_an_hour() -> None:
    assert [wait_s(before, 0.0, chance=0.0) for before in (0, 1, 2, 3, 4, 5, 50)] == [5, 30, 120, 600, 1800, 3600, 3600]
    # The second time it is 30 s and up to a fifth more; an answer that asks for 90 s then gets them.
    assert (wait_s(1, 0.0, chance=1.0), wait_s(1, 90.0, chance=1.0)) == (36.0, 90.0)
    assert wait_s(0, 1e9, chance=0.0) == 3600.0


def test_an_answer_asks_for_seconds_or_for_nothing() -> None:
    assert [read_retry_after(text) for text in ("", " 7 ", "-1", "soon", "9" * 40, "٣")] == [0.0, 7.0, 0, 0, 0, 0]
