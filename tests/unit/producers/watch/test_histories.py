"""Histories that grow, on a mill in memory: what is sent, and what is not."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from querymill.ingesting.jsonl import Lines
from querymill.ingesting.kinds.conversations import LINES as CONVERSATIONS
from querymill.ingesting.kinds.messages import LINES as MESSAGES
from querymill.testing import MemoryMill
from querymill.watch.histories import HistoryFollower, Spot
from querymill.watch.sent import AlreadyFollowed, SentLog
from querymill.watch.sessions import SessionSender, WatchReport
from querymill_histories.formats import BY_NAME
from querymill_histories.session import ReadOptions
from tests.fixtures.histories import claude_line, write_json, write_lines

#: Long enough ago for a file to be whole.
LONG_AGO = time.time() - 60


@dataclass
class Home:
    """A folder of histories, and what follows it."""

    folder: Path
    kind: str
    follower: HistoryFollower

    def take(self, *paths: Path) -> WatchReport:
        """Take changes: those given, or all that are found."""
        told = WatchReport()
        self.follower.take(paths or self.follower.everything(), told)
        return told

    def stored(self, session: str = "s1") -> list[str]:
        """Return the texts of a session that is stored."""
        shown = self.follower.sender.mill.show(self.kind, session, collection="c")  # type: ignore[arg-type]
        return [message["text"] for message in shown["messages"]]


def followed(mill: MemoryMill, folder: Path, lines: Lines[Any], kind: str) -> Iterator[Home]:
    with SentLog(folder / "state" / "sent.sqlite") as sent:
        sender = SessionSender(mill, lines, "c", sent)
        spots = [Spot(folder / "home")]
        follower = HistoryFollower(lambda: spots, ReadOptions(), "none", sender, sent)
        (folder / "home").mkdir(exist_ok=True)
        follower.roots()
        yield Home(folder / "home", kind, follower)


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as opened:
        yield opened


@pytest.fixture(params=[("conversations", CONVERSATIONS), ("messages", MESSAGES)], ids=lambda given: given[0])
def home(request: pytest.FixtureRequest, mill: MemoryMill, tmp_path: Path) -> Iterator[Home]:
    kind, lines = request.param
    yield from followed(mill, tmp_path, lines, kind)


def spoken(number: int, text: Any = None, **more: Any) -> dict[str, Any]:
    kind = "user" if number % 2 else "assistant"
    parent = f"u{number - 1}" if number > 1 else None
    return claude_line(kind, f"u{number}", parent, text or f"line {number}", second=number, **more)


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def grow(path: Path, *rows: dict[str, Any]) -> None:
    write_lines(path.with_suffix(".new"), rows)
    append(path, path.with_suffix(".new").read_text())
    path.with_suffix(".new").unlink()


def is_long_ago(path: Path) -> None:
    os.utime(path, (LONG_AGO, LONG_AGO))


def test_a_session_that_grows_costs_its_new_messages(home: Home) -> None:
    path = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2)])
    assert home.take().counts == Counter(ingested=1, messages=2, files=1)
    grow(path, spoken(3))
    assert home.take(path).counts == Counter(grown=1, messages=1, files=1)
    assert home.stored() == ["line 1", "line 2", "line 3"]
    assert home.follower.everything() == set()


def test_a_line_that_is_half_written_is_waited_for(home: Home) -> None:
    path = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2)])
    home.take()
    whole = write_lines(home.folder / "later", [spoken(3)]).read_text()
    (home.folder / "later").unlink()
    append(path, whole[:30])
    told = home.take(path)
    assert (told.counts["messages"], told.failures) == (0, [])
    append(path, whole[30:])
    assert home.take(path).counts["messages"] == 1
    assert home.stored() == ["line 1", "line 2", "line 3"]


def test_a_message_that_changes_sends_the_session_whole(home: Home) -> None:
    path = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2)])
    home.take()
    write_lines(path, [spoken(1, "another"), spoken(2), spoken(3)])
    assert home.take(path).counts == Counter(ingested=1, messages=3, files=1)
    assert home.stored() == ["another", "line 2", "line 3"]


def test_a_file_that_is_cut_keeps_what_is_stored_until_it_is_left_alone(home: Home) -> None:
    path = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2)])
    home.take()
    write_lines(path, [spoken(1)])
    assert home.take(path).counts["messages"] == 0
    assert home.follower.later == {path}
    assert len(home.stored()) == 2
    is_long_ago(path)
    home.take()
    assert (home.stored(), home.follower.later) == (["line 1"], set())
    write_lines(path, [])
    is_long_ago(path)
    home.take(path)
    assert home.stored() == ["line 1"]
    path.unlink()
    assert home.take(path).failures == []
    assert home.stored() == ["line 1"]


def test_another_file_in_its_place_is_read(home: Home) -> None:
    path = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2)])
    home.take()
    write_lines(home.folder / "new", [spoken(1), spoken(2), spoken(3)]).rename(path)
    assert home.take(path).counts == Counter(grown=1, messages=1, files=1)


def test_a_session_in_two_files_stays_one_as_either_grows(home: Home) -> None:
    first = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2)])
    home.take()
    second = write_lines(
        home.folder / "s2.jsonl", [spoken(3, sessionId="s2"), spoken(4, sessionId="s2")]
    )  # begins after u2
    home.take(second)
    assert home.stored() == ["line 1", "line 2", "line 3", "line 4"]
    grow(second, spoken(5, sessionId="s2"))
    assert home.take(second).counts == Counter(grown=1, messages=1, files=2)
    assert home.stored()[-1] == "line 5"
    assert {len(home.follower.sent.files[path].ids) for path in (first, second)} == {1}


def test_a_file_of_json_that_is_half_written_is_read_again(home: Home) -> None:
    chat = {
        "sessionId": "g", "projectHash": "h", "startTime": "2026-01-05T10:00:00Z",
        "messages": [{"id": "1", "timestamp": "2026-01-05T10:00:00Z", "type": "user", "content": "why"}],
    }  # fmt: skip
    path = write_json(home.folder / "session-1.json", chat)
    home.take()
    whole = path.read_text()
    path.write_text(whole[:-20])
    told = home.take(path)
    assert (told.failures, home.follower.later) == ([], {path})
    is_long_ago(path)
    told = home.take()
    assert [place for place, _ in told.failures] == [str(path)]
    assert home.take(path).failures == []  # told once
    chat["messages"] = [
        *chat["messages"],
        {"id": "2", "timestamp": "2026-01-05T10:01:00Z", "type": "gemini", "content": "so"},
    ]
    write_json(path, chat)
    assert home.take(path).counts == Counter(grown=1, messages=1, files=1)
    assert home.stored("g") == ["why", "so"]


def test_what_was_dropped_meanwhile_is_sent_whole_when_it_grows(home: Home) -> None:
    path = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2)])
    home.take()
    home.follower.sender.mill.drop(home.kind, collection="c", ids=["s1"])  # type: ignore[arg-type]
    assert home.take().counts == Counter()
    grow(path, spoken(3))
    home.take(path)
    assert home.stored() == ["line 1", "line 2", "line 3"]


def test_a_follower_that_starts_again_reads_only_what_has_changed(mill: MemoryMill, tmp_path: Path) -> None:
    for number in range(3):
        write_lines(tmp_path / "home" / f"s{number}.jsonl", [spoken(1, f"in {number}", sessionId=f"s{number}")])
    for home in followed(mill, tmp_path, CONVERSATIONS, "conversations"):
        assert home.take().counts == Counter(ingested=3, messages=3, files=3)
    grow(tmp_path / "home" / "s1.jsonl", spoken(3, sessionId="s1"))
    for home in followed(mill, tmp_path, CONVERSATIONS, "conversations"):
        assert home.take().counts == Counter(grown=1, messages=1, files=1)


def test_two_followers_of_the_same_are_refused_and_a_damaged_state_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "sent.sqlite"
    with SentLog(path), pytest.raises(AlreadyFollowed, match=r"sent\.sqlite"):
        SentLog(path)
    path.write_bytes(b"no database" * 1_000)
    with SentLog(path) as sent:
        assert sent.files == {}


def test_messages_without_ids_are_added_too(home: Home) -> None:
    path = home.folder / ".aider.chat.history.md"
    path.write_text("\n# aider chat started at 2026-01-05 10:00:00\n\n#### why\n\nBecause.\n\n")
    home.take()
    append(path, "#### and then\n\nNothing.\n\n")
    assert home.take(path).counts == Counter(grown=1, messages=2, files=1)
    (session,) = home.follower.sent.files[path].ids
    assert home.stored(session) == ["why", "Because.", "and then", "Nothing."]


def test_files_of_a_folder_that_is_new_are_found_and_others_are_no_history(home: Home) -> None:
    write_lines(home.folder / "new" / "s1.jsonl", [spoken(1)])
    (home.folder / "new" / "notes.txt").write_text("nothing")
    assert home.take(home.folder / "new").counts == Counter(ingested=1, messages=1, files=1)
    assert BY_NAME[home.follower.sent.files[home.folder / "new" / "s1.jsonl"].format].name == "claude-code"


def test_what_is_left_out_is_said_once_and_again_when_it_is_more(home: Home) -> None:
    thought = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "line 2"}]
    path = write_lines(home.folder / "s1.jsonl", [spoken(1), spoken(2, thought)])
    assert home.take().remarks == [(str(path), "left out: 1 hidden thought")]
    grow(path, spoken(3))
    assert home.take(path).remarks == []
    grow(path, spoken(4, thought))
    assert home.take(path).remarks == [(str(path), "left out: 2 hidden thoughts")]
    empty = write_json(home.folder / "conversations.json", [{"title": "T", "mapping": {"a": {"message": None}}}])
    assert home.take(empty).remarks == [(str(empty), "left out: 1 session without a message")]
