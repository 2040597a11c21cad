"""A session of Claude Code, where the tool keeps it, through the command line into a search, on real servers."""

import json
from pathlib import Path

import pytest

from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.histories import claude_line, write_lines


@pytest.mark.usefixtures("worker")
def test_a_session_is_found_at_home_ingested_and_searched(deployment: Deployment, tmp_path: Path) -> None:
    querymill = CommandLine(deployment.environment | {"HOME": str(tmp_path)})
    lines = [
        claude_line("user", "u1", None, "Why does the lighthouse build fail?", second=1),
        claude_line("assistant", "a1", "u1", "A bracket is missing in beacon.mdx.", second=2),
    ]
    path = write_lines(tmp_path / ".claude" / "projects" / "-work-app" / "s1.jsonl", lines)
    options = ("--collection", "own-histories", "--json")

    run = querymill("ingest", "conversations", *options)
    assert run.returncode == 0, run.stderr
    done = json.loads(run.stdout)
    assert (done["ingested"], done["messages"], done["from"]) == (1, 2, {"claude-code": {"files": 1, "sessions": 1}})

    found = json.loads(querymill("search", "conversations", "missing bracket", *options).stdout)
    (hit,) = found["results"]
    assert (hit["session_id"], hit["source"], hit["line"], hit["message_number"]) == ("s1", str(path), 2, 2)
    shown = json.loads(querymill("show", "conversations", "s1", "--around", hit["message_id"], *options).stdout)
    assert [(message["number"], message["is_asked"]) for message in shown["messages"]] == [(1, False), (2, True)]
    listed = json.loads(querymill("list", "conversations", "--since", "2026-01-06", *options).stdout)
    assert listed["total"] == 0

    path.write_text(path.read_text() + '{"type": "user", "broken\n')
    run = querymill("ingest", "conversations", path, *options)
    assert run.returncode == 1, run.stderr
    again = json.loads(run.stdout)
    assert (again["unchanged"], again["unreadable_count"]) == (1, 1)
    assert again["unreadable"][0]["place"].endswith("s1.jsonl:3")
