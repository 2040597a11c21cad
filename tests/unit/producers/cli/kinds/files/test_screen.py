"""The screen of files: the rounds while they run, then the files and what they cost."""

import io

from querymill.cli.kinds.files import KIND
from querymill.cli.kinds.files.screen import show
from querymill.cli.terminal import Console
from querymill_shared.contracts.events import Queued, SearchRound
from querymill_shared.contracts.files.search import FileHit, FileResult, LineRange, TokenAccount
from tests.fixtures.screens import shown

HIT = FileHit(
    path="a.py", score=0.0312, relevance=0.89, band="high", why="defines run", round=1, found_by=("words",), tokens=9,
    excerpt=(LineRange(first=1, last=4), LineRange(first=9, last=9)), explanation={},
)  # fmt: skip
COST = TokenAccount(
    spent=1606, context=1246, listing=360, judged=0, returned_excerpts=1, returned_files=2, one_shot=3, all_candidates=4
)
RESULT = FileResult(
    job_id="j", total=3, complete=True, query="q", collection="c", mode="iterative", results=(HIT, HIT, HIT),
    patterns=(), gaps=(), rounds=(), stop="rounds", files_read=25, token_account=COST, context="", context_files=(),
)  # fmt: skip


def printed(limit: int) -> str:
    written = io.StringIO()
    show(Console(file=written, width=400), RESULT, limit=limit)
    return written.getvalue()


def test_a_file_stands_with_its_band_and_what_speaks_for_it() -> None:
    lines = shown(KIND, RESULT).splitlines()
    assert lines[:2] == [" 1  0.89 high   a.py", "      defines run   (round 1, by words; lines 1–4, 9–9)"]
    assert "1,606 tokens" in lines[-1]


def test_files_beyond_the_limit_are_counted() -> None:
    assert "  … and 2 more\n" in printed(limit=1)
    assert "more" not in printed(limit=3)


def test_one_shot_shows_the_joined_rank() -> None:
    assert " 1  0.0312 high   a.py" in shown(KIND, RESULT.model_copy(update={"mode": "oneshot"}))


def test_the_context_names_the_files_that_it_holds() -> None:
    names = tuple(f"{number}.py" for number in range(7))
    said = shown(KIND, RESULT.model_copy(update={"context_files": names}))
    assert "context of 1,246 tokens, ready to paste: 0.py, 1.py, 2.py, 3.py, 4.py and 2 more" in said


def test_a_round_is_printed_when_it_ends_and_other_events_are_not() -> None:
    told = SearchRound(
        round=2, evaluated=5, bands={"high": 1, "low": 4}, queries=("name run",), files=(), gaps=("stop",), stop=None
    )
    written = io.StringIO()
    KIND.follow(Console(file=written, width=400), "where?", [Queued(stages=("search-1-words",)), told])
    assert written.getvalue().splitlines() == [
        "where?", "  round 2  5 files: 1 high, 4 low", "     asked: name run", "     used there and not found yet: stop"
    ]  # fmt: skip
