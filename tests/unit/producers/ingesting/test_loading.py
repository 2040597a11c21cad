"""`mill.ingest` as a user calls it, on a mill in memory."""

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from querymill import (
    BadLine,
    ChatSession,
    Ingestion,
    LoadProgress,
    MessageSearch,
    Report,
    ReportSearch,
    UnreadPath,
)
from querymill.ingesting import submitting
from querymill.ingesting.loading import load_async
from querymill.ingesting.submitting import IN_FLIGHT, PACKED
from querymill.testing import MemoryMill


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as opened:
        yield opened


def report(sha1: str, text: str = "the fleet counts nine ships") -> dict[str, Any]:
    return {"sha1": sha1, "title": "t", "company": "Nordhav", "pages": [{"page": 1, "text": text}]}


def test_rows_are_in_when_the_call_returns_and_again_change_nothing(mill: MemoryMill) -> None:
    rows = [report("a"), Report.model_validate(report("b", "tomato soup")), json.dumps(report("c", "rain"))]
    assert mill.ingest("reports", rows, collection="filings").outcomes == {"ingested": 3}
    again = mill.ingest("reports", iter(rows), collection="filings")
    assert (again.outcomes, again.is_clean) == ({"unchanged": 3}, True)
    found = mill.submit(ReportSearch(query="soup", collection="filings")).result(timeout=10)
    assert found.results[0].document == "b"
    assert mill.collections() == {"filings": ("reports",)}
    assert mill.list("reports", collection="filings").total == 3
    assert mill.show("reports", "c", collection="filings")["pages"][0]["text"] == "rain"
    assert mill.drop("reports", collection="filings", ids=["c"], timeout=10).total == 1


def test_a_file_is_ingested_by_its_path(mill: MemoryMill, tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_text("\n".join(json.dumps(report(f"r{number}")) for number in range(PACKED.documents + 3)))
    for given in (path, str(path)):
        done = mill.ingest("reports", given, collection="filings")
        assert (done.outcomes.total(), done.failed) == (PACKED.documents + 3, [])


def test_a_contract_with_times_is_a_row(mill: MemoryMill) -> None:
    session = ChatSession.model_validate(
        {
            "session_id": "s",
            "started_at": datetime(2026, 3, 1, tzinfo=UTC),
            "messages": [{"role": "user", "text": "rain"}],
        }
    )
    assert mill.ingest("messages", [session], collection="chats").outcomes == {"ingested": 1}
    asked = MessageSearch(query="rain", collection="chats", similarity_threshold=None)
    assert mill.submit(asked).result(timeout=10).total == 1


def test_a_bad_row_is_told_with_its_number_and_rule_and_the_others_are_ingested(mill: MemoryMill) -> None:
    told: list[LoadProgress | BadLine | UnreadPath] = []
    rows = [report("a"), {"sha1": "b"}, "{no", {"sha1": object()}, report("c")]
    done = mill.ingest("reports", rows, collection="filings", on_event=told.append)
    assert (done.outcomes, done.is_clean) == ({"ingested": 2, "bad": 3}, False)
    assert [line.number for line in done.bad] == [2, 3, 4]
    assert done.bad[0].reason.startswith("pages: ")
    assert [event for event in told if isinstance(event, BadLine)] == done.bad
    ends = [event for event in told if isinstance(event, LoadProgress) and event.document is not None]
    assert [(event.document, event.result is not None) for event in ends] == [("a", True), ("c", True)]


def test_what_breaks_a_rule_as_a_whole_is_refused_before_a_row_is_read(mill: MemoryMill, tmp_path: Path) -> None:
    rows = iter([report("a")])
    with pytest.raises(ValueError, match="kind: must be one of reports"):
        mill.ingest("papers", rows, collection="filings")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be 1 to 64 letters"):
        mill.ingest("reports", rows, collection="no / name")
    with pytest.raises(FileNotFoundError):
        mill.ingest("reports", tmp_path / "nothing.jsonl", collection="filings")
    assert len(list(rows)) == 1


def test_rows_are_read_while_others_are_ingested(mill: MemoryMill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitting, "PACKED", replace(PACKED, documents=3))
    read = itertools.count()
    ahead: list[int] = []
    count = 3 * (IN_FLIGHT + 6)
    taken = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(count):
            taken = next(read)
            yield report(f"r{number}", "x")

    arrived = 0

    def tell(event: LoadProgress | BadLine | UnreadPath) -> None:
        nonlocal arrived
        if isinstance(event, LoadProgress) and event.document is not None:
            arrived += 1
            ahead.append(taken - arrived)

    mill.ingest("reports", rows(), collection="filings", on_event=tell)
    assert arrived == count
    assert max(ahead) <= 3 * (IN_FLIGHT + 2)


def test_awaited_it_tells_in_the_loop_and_stops_reading_when_it_is_cancelled(mill: MemoryMill) -> None:
    async def run() -> tuple[Ingestion, int, bool]:
        told: list[object] = []
        loop = asyncio.get_running_loop()

        def tell(event: object) -> None:
            assert asyncio.get_running_loop() is loop
            told.append(event)

        done = await load_async(MemoryOf(mill), "reports", [report("a"), "{no"], "filings", tell)
        endless = ({**report("a"), "n": number} for number in itertools.count())
        began, connected = asyncio.Event(), MemoryOf(mill)
        loading = asyncio.create_task(load_async(connected, "reports", endless, "filings", lambda _: began.set()))
        await began.wait()
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert await asyncio.to_thread(connected.left.wait, 60)
        return done, len(told), loading.cancelled()

    done, told, is_cancelled = asyncio.run(run())
    assert (done.outcomes, told >= 2, is_cancelled) == ({"ingested": 1, "bad": 1}, True, True)


class MemoryOf:
    """Connects to the one world of a test."""

    def __init__(self, mill: MemoryMill) -> None:
        self._mill = mill
        self.left = threading.Event()

    def __call__(self) -> "MemoryOf":
        return self

    def __enter__(self) -> MemoryMill:
        return self._mill

    def __exit__(self, *_: object) -> None:
        self.left.set()
