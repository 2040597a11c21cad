"""What the command takes for histories, and which options say something about them."""

from pathlib import Path

import pytest

from querymill.cli.exits import WrongUse
from querymill.cli.ingest import load
from querymill.ingesting.path_options import UnusablePath
from querymill.ingesting.sources.histories import HistoryOptions, are_histories
from tests.fixtures.histories import claude_line, write_lines


def test_our_own_json_lines_are_no_history(tmp_path: Path) -> None:
    ours = write_lines(
        tmp_path / "ours.jsonl", [{"session_id": "1", "started_at": "2026-01-01", "messages": [{"text": "Why?"}]}]
    )
    theirs = write_lines(tmp_path / "theirs.jsonl", [claude_line("user", "u1", None, "Why?")])
    assert not are_histories([str(ours)], HistoryOptions())
    assert not are_histories(["-"], HistoryOptions())
    assert are_histories([str(theirs)], HistoryOptions())
    assert are_histories(["-"], HistoryOptions(origin="codex"))
    assert are_histories([], HistoryOptions())
    assert are_histories(["export.zip"], HistoryOptions())


@pytest.mark.parametrize(
    "options", [HistoryOptions(origin="claud"), HistoryOptions(tools="all"), HistoryOptions(time_zone="Mars/Base")]
)
def test_an_option_that_breaks_a_rule_is_named(options: HistoryOptions) -> None:
    with pytest.raises(UnusablePath, match=r"^(origin|tools|time_zone)( \(--from\))?: "):
        (options.format(), options.shown(), options.asked())


def test_options_are_refused_where_they_say_nothing() -> None:
    with pytest.raises(UnusablePath, match="are for histories"):
        load("reports", ["a.jsonl"], "c", origin="codex")
    with pytest.raises(UnusablePath, match="are for documents"):
        load("messages", ["a.jsonl"], "c", title="Reasons")
    with pytest.raises(WrongUse, match="path: must be given for modules"):
        load("modules", [], "c")
