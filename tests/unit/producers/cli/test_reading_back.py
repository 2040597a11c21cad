"""A message among its neighbours, a page with a passage marked, and documents since a day."""

from datetime import UTC, datetime
from typing import Any

import pytest

from querymill.cli.exits import WrongUse
from querymill.cli.reading_back import around, page, places_of, since
from querymill_shared.contracts.filters import fits

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-03-01", "2026-03-01T00:00:00+00:00"), ("24h", "2026-03-09T12:00:00+00:00"),
        ("2w", "2026-02-24T12:00:00+00:00"),
    ],
)  # fmt: skip
def test_since_is_a_day_a_time_or_a_span(written: str, expected: str) -> None:
    condition = since(written, "messages", NOW)
    assert condition == {"time": {"from": expected}}
    fits(condition, "messages")
    assert since(written, "reports", NOW) == {"published_at": {"from": expected[:10]}}


@pytest.mark.parametrize(("written", "kind"), [("yesterday", "messages"), ("", "reports"), ("7d", "modules")])
def test_another_since_is_refused(written: str, kind: Any) -> None:
    with pytest.raises(WrongUse, match="--since"):
        since(written, kind, NOW)


def session(count: int) -> dict[str, Any]:
    messages = [{"message_id": f"m{number}", "text": f"text {number}"} for number in range(1, count + 1)]
    return {"session_id": "s", "messages": messages}


@pytest.mark.parametrize("named", ["m4", "4", "#4"])
def test_a_message_is_shown_with_its_neighbours(named: str) -> None:
    shown = around(session(9), named, 2)
    assert [(each["number"], each["is_asked"]) for each in shown["messages"]] == [
        (2, False), (3, False), (4, True), (5, False), (6, False),
    ]  # fmt: skip
    assert shown["total"] == 9


def test_the_first_and_the_last_have_fewer_neighbours_and_a_stranger_is_refused() -> None:
    assert [each["number"] for each in around(session(3), "m1", 1)["messages"]] == [1, 2]
    assert [each["number"] for each in around(session(3), "m3", 9)["messages"]] == [1, 2, 3]
    for named in ("m7", "0", "10", "9" * 5_000, "²"):
        with pytest.raises(WrongUse, match="--around"):
            around(session(3), named, 1)


def test_a_passage_is_marked_on_its_page_however_its_lines_are_broken() -> None:
    report = {
        "sha1": "r", "title": "Annual report", "company": "Nordhav", "source": "/in/a.pdf", "page_labels": {"2": "iv"},
        "pages": [{"page": 1, "text": "one"}, {"page": 2, "text": "The fleet counts\n nine ships. Nine ships!"}],
    }  # fmt: skip
    shown = page(report, 2, "counts nine   ships")
    assert (shown["label"], shown["source"], shown["marks"]) == ("iv", "/in/a.pdf", [(10, 28)])
    assert places_of(shown["text"], "NINE SHIPS") == [(18, 28), (30, 40)]
    assert places_of("a", " ") == []
    for number, passage in ((3, None), (1, "nine")):
        with pytest.raises(WrongUse, match=r"--page: 3|not on page 1"):
            page(report, number, passage)
