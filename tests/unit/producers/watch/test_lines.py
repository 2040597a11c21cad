"""Files of JSON lines that grow, are rotated, cut and written anew."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from querymill.ingesting.kinds.messages import LINES as SESSIONS
from querymill.ingesting.kinds.reports import LINES as REPORTS
from querymill.testing import MemoryMill
from querymill.watch.lines import LineFollower
from querymill.watch.sent import SentLog
from querymill.watch.sessions import SessionSender, WatchReport


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def reports(mill: MemoryMill, folder: Path) -> Iterator[LineFollower]:
    with SentLog(folder.parent / "sent.sqlite") as sent:
        yield LineFollower([folder], mill, REPORTS, "c", SessionSender(mill, REPORTS, "c", sent), sent)


def line(sha1: str) -> str:
    pages = [{"page": 1, "text": f"text of {sha1}"}]
    return json.dumps({"sha1": sha1, "title": sha1, "company": "Nordhav", "pages": pages}) + "\n"


def write(path: Path, text: str, mode: str = "a") -> None:
    with path.open(mode) as file:
        file.write(text)


def take(follower: LineFollower) -> WatchReport:
    told = WatchReport()
    follower.take(follower.everything(), told)
    return told


def test_what_is_appended_is_sent_once_its_line_is_complete(reports: LineFollower, folder: Path) -> None:
    path = folder / "log.jsonl"
    write(path, line("a") + line("b") + line("c")[:20])
    assert take(reports).counts["ingested"] == 2
    assert reports.later == {path}
    write(path, line("c")[20:])
    told = take(reports)
    assert (told.counts["ingested"], told.counts["unchanged"]) == (1, 0)
    assert reports.everything() == set()


def test_a_last_line_without_an_end_is_taken_when_the_file_is_left_alone(reports: LineFollower, folder: Path) -> None:
    path = folder / "log.jsonl"
    write(path, line("a") + line("b").rstrip("\n"))
    os.utime(path, (time.time() - 60, time.time() - 60))
    assert take(reports).counts["ingested"] == 2


def test_a_rotated_file_goes_on_where_it_was(reports: LineFollower, folder: Path) -> None:
    path = folder / "log.jsonl"
    write(path, line("a"))
    take(reports)
    write(path, line("b"))
    path.rename(folder / "log.jsonl.1")
    write(path, line("c"))
    told = take(reports)
    assert (told.counts["ingested"], told.counts["unchanged"]) == (2, 0)


@pytest.mark.parametrize("text", [line("b"), line("b") + line("c") + line("d")])
def test_a_file_that_is_cut_or_written_anew_is_read_from_its_beginning(
    reports: LineFollower, folder: Path, text: str
) -> None:
    path = folder / "log.jsonl"
    write(path, line("a") + line("b"))
    take(reports)
    write(path, text, "w")
    told = take(reports)
    assert told.counts["ingested"] + told.counts["unchanged"] == text.count("\n")


def test_a_bad_line_is_named_by_file_and_number_and_the_rest_is_sent(reports: LineFollower, folder: Path) -> None:
    write(folder / "log.jsonl", line("a"))
    take(reports)
    write(folder / "log.jsonl", "{}\n\n" + line("b"))
    told = take(reports)
    assert [place for place, _ in told.failures] == [f"{folder / 'log.jsonl'}:2"]
    assert told.counts["ingested"] == 1


def test_a_session_on_a_later_line_costs_its_new_messages(mill: MemoryMill, folder: Path) -> None:
    def session(count: int) -> str:
        messages = [{"text": f"text {number}"} for number in range(count)]
        return json.dumps({"session_id": "s", "started_at": "2026-01-01T00:00:00Z", "messages": messages}) + "\n"

    path = folder / "log.jsonl"
    with SentLog(folder.parent / "sent.sqlite") as sent:
        sender = SessionSender(mill, SESSIONS, "c", sent)
        follower = LineFollower([path], mill, SESSIONS, "c", sender, sent)
        write(path, session(3))
        assert take(follower).counts["messages"] == 3
        write(path, session(4))
        told = take(follower)
        assert (told.counts["grown"], told.counts["messages"]) == (1, 1)
