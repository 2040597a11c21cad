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


@pytest.mark.usefixtures("worker")
def test_what_is_left_out_is_said_and_no_session_is_no_success(deployment: Deployment, tmp_path: Path) -> None:
    querymill = CommandLine(deployment.environment)
    chat = tmp_path / "WhatsApp Chat with Ada.txt"
    lines = ('Ada "Captain" Lund: The winch is repaired.', "Ada added Bo", "Bo: a.pdf (file attached)")
    chat.write_text(
        "".join(f"13/06/18, 21:2{number} - {line}\n" for number, line in enumerate(lines)), encoding="utf-8"
    )
    options = ("--collection", "foreign-histories")

    run = querymill("ingest", "conversations", chat, *options, "--json")
    assert run.returncode == 0, run.stderr
    (left_out,) = json.loads(run.stdout)["left_out"]
    assert left_out == {"place": str(chat), "reason": "left out: 1 attachment, 1 system line"}
    stored = json.loads(querymill("export", "conversations", *options).stdout.splitlines()[0])
    assert stored["messages"][0]["role"] == 'Ada "Captain" Lund'
    assert stored["remarks"] == ["1 attachment", "1 system line"]

    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "conversations.json").write_text('[{"title": "T", "mapping": {"a": {"id": "a", "message": null}}}]')
    (empty / "notes.json").write_text('{"forecast": []}')
    run = querymill("ingest", "conversations", empty, *options)
    assert run.returncode == 1
    told = " ".join(run.stderr.split())
    assert "no session with a message in 1 file, which looks like one of chatgpt" in told
    assert "left out: 1 session without a message" in told
    assert "not recognised: JSON whose fields are those of no format: forecast (formats tried:" in told
