"""Text that strangers stored reaches no terminal as anything but text."""

import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from querymill.cli import jobs, ranks, screen, status
from querymill.cli.kind import Kind
from querymill.cli.kinds import KINDS
from querymill.cli.kinds.files.screen import follow
from querymill.cli.progress import progress_bar
from querymill.cli.screen_answers import show_answered
from querymill.cli.terminal import Console, echo, saying_if_interrupted
from querymill.fleet import tables
from querymill_embedded import PartStatus
from querymill_embedded.supervisor import ProcessState
from querymill_shared.contracts.answer import AnswerResult
from querymill_shared.contracts.conversations.ranks import RankListResult
from querymill_shared.contracts.events import AnswerPart, Event, Hits, Queued, SearchRound, StageFinished, StageStarted
from querymill_shared.contracts.rerank import RerankResult
from tests.fakes.hostile import TEXT, hostile

#: What a terminal would act upon; a new line and a tab are text.
ACTED_UPON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

EVENTS: list[Event] = [
    hostile(Queued), hostile(StageStarted), hostile(StageFinished), hostile(SearchRound), hostile(Hits),
    hostile(AnswerPart),
]  # fmt: skip
STATE = {"model": TEXT, "breaker": "closed", "failures": 0, "paused_s": 0}
FLEET = {
    "jobs": {TEXT: {"submitted": 1, "ended": {TEXT: 1}, "incomplete": 0}}, "leases_lost": 0, "dead_letters": 0,
    "providers": [STATE],
    "queues": [{"queue": TEXT, "workers": 1, "slots": 1, "running": 1, "waiting": 1, "oldest_s": 1.0}], "counts": {},
    "workers": [{"name": TEXT, "slots": 1, "pid": 1, "queues": [TEXT]}],
}  # fmt: skip
ROW = dict.fromkeys(("job_id", "kind", "collection", "state", "submitted", "callers", "reason"), TEXT)
PART = PartStatus(TEXT, ProcessState.RUNNING, 1, TEXT, Path(TEXT), 1.0, 0)


def show_hostile(kind: Kind[Any], console: Console) -> None:
    kind.show(console, hostile(kind.result))


SCREENS: dict[str, Callable[[Console], Any]] = {kind.name: partial(show_hostile, kind) for kind in KINDS} | {
    "rerank": lambda console: screen.show_reranked(console, hostile(RerankResult)),
    "answer": lambda console: show_answered(console, hostile(AnswerResult)),
    "job": lambda console: console.print(job_screen()),
    "rounds": lambda console: follow(console, TEXT, EVENTS),
    "jobs": lambda console: console.print(jobs.table_of([ROW])),
    "ranks": lambda console: console.print(ranks.table_of(hostile(RankListResult))),
    "fleet": lambda console: console.print(*tables(FLEET)),
    "status": lambda console: console.print(status.table_of([PART])),
    "a string": lambda console: console.print(TEXT),
    "an error": lambda console: console.print(TEXT, style="red"),
}


def job_screen() -> screen.JobScreen:
    seen = screen.JobScreen(TEXT)
    for event in EVENTS:
        seen.see(event)
    return seen


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_shows_what_was_stored_as_text(name: str) -> None:
    console = Console(file=io.StringIO(), width=2_000)
    SCREENS[name](console)
    written = console.file.getvalue()  # type: ignore[attr-defined]  # the one above
    assert ACTED_UPON.findall(written) == []
    assert "back [/x] [bold]loud [red :bomb: kept" in written


def test_a_terminal_still_has_its_colours() -> None:
    console = Console(file=io.StringIO(), width=2_000, force_terminal=True, color_system="standard")
    console.print(TEXT, style="bold red")
    written = console.file.getvalue()  # type: ignore[attr-defined]  # the one above
    assert written.startswith("\x1b[1;31m")
    assert written.count("\x1b") == 2


class Stored(BaseModel):
    text: str


@pytest.mark.parametrize(
    "line", [TEXT, Stored(text=TEXT).model_dump_json(), json.dumps({"text": TEXT}, ensure_ascii=False)]
)
def test_a_line_holds_nothing_that_a_terminal_acts_upon(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    echo(line)
    written = capsys.readouterr().out
    assert ACTED_UPON.findall(written) == []
    assert "kept" in written


def test_json_says_what_it_said(capsys: pytest.CaptureFixture[str]) -> None:
    echo(Stored(text=TEXT + "\\").model_dump_json())
    assert json.loads(capsys.readouterr().out) == {"text": TEXT + "\\"}


def test_an_interrupted_command_says_what_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(path: str) -> None:
        raise KeyboardInterrupt(path)

    with pytest.raises(KeyboardInterrupt):
        saying_if_interrupted(interrupted, "the rest goes on")("x")
    assert capsys.readouterr().err == "the rest goes on\n"


def test_a_pipe_gets_whole_lines_and_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = Console(file=io.StringIO())
    piped.print("querymill down --data /" + "folder/" * 30)
    with progress_bar(console=piped) as bar:
        bar.add_task("ingesting", total=1, completed=1)
    assert piped.file.getvalue() == "querymill down --data /" + "folder/" * 30 + "\n"  # type: ignore[attr-defined]


def test_a_terminal_gets_lines_of_its_width_and_a_bar() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=40)
    screen.print("word " * 20)
    with progress_bar(console=screen) as bar:
        bar.add_task("ingesting", total=1, completed=1)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines()[:3])) <= 40
    assert "ingesting" in shown
