"""Claude Code: what a person typed and what was shown, of lines most of which are neither."""

from pathlib import Path

import pytest

from querymill_histories.rules.branches import abandoned
from querymill_histories.rules.injected import typed
from tests.fixtures.histories import claude_line, one, read_back, said, write_lines

ASKED = claude_line("user", "u1", None, "Why does the build fail?", second=1)
ANSWERED = claude_line("assistant", "a1", "u1", "A bracket is missing.", second=2)


def test_a_session_has_its_messages_ids_times_and_what_it_is_about(tmp_path: Path) -> None:
    row = one(write_lines(tmp_path / "p" / "s1.jsonl", [ASKED, ANSWERED]))
    assert (row["session_id"], row["cwd"], row["branch"], row["models"]) == (
        "s1",
        "/srv/app",
        "main",
        ["claude-test-1"],
    )
    assert row["started_at"].isoformat() == "2026-01-05T10:00:01+00:00"
    assert [(message["message_id"], message["line"]) for message in row["messages"]] == [("u1", 1), ("msg_a1", 2)]


def test_what_no_person_typed_is_left_out(tmp_path: Path) -> None:
    injected = [
        claude_line("user", "x1", "a1", [{"type": "tool_result", "tool_use_id": "t1", "content": "No files found"}]),
        claude_line("user", "x2", "x1", "Caveat", isMeta=True),
        claude_line("user", "x3", "x2", "This session is being continued", isCompactSummary=True),
        claude_line("user", "x4", "x3", "<command-name>/clear</command-name>\n <command-args></command-args>"),
        claude_line("user", "x5", "x4", "<local-command-stdout></local-command-stdout>"),
        claude_line("user", "x6", "x5", "[Request interrupted by user]"),
        claude_line("user", "x7", "x6", "go on", isSidechain=True),
        claude_line("assistant", "x8", "x7", [{"type": "thinking", "thinking": "hidden"}]),
        {"type": "file-history-snapshot", "messageId": "x9", "snapshot": {}},
        {"type": "queue-operation", "operation": "dequeue", "sessionId": "s1"},
    ]
    row = one(write_lines(tmp_path / "s1.jsonl", [ASKED, ANSWERED, *injected]))
    assert said(row) == [("user", "Why does the build fail?"), ("assistant", "A bracket is missing.")]


def test_of_a_text_with_an_injected_block_the_typed_one_is_kept(tmp_path: Path) -> None:
    blocks = [
        {"type": "text", "text": "<ide_opened_file>The user opened a.py</ide_opened_file>"},
        {"type": "text", "text": "What is <system-reminder>Be brief.</system-reminder>this?"},
    ]
    row = one(write_lines(tmp_path / "s1.jsonl", [claude_line("user", "u1", None, blocks)]))
    assert said(row) == [("user", "What is this?")]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<ide_opened_file>a.py</ide_opened_file>Why does it fail?", "Why does it fail?"),
        ("What does <command-name> mean?", "What does <command-name> mean?"),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.ts\n\n## My request for Codex:\nRename it\n", "Rename it"),
        ("<environment_context>\n<cwd>/a</cwd>\n</environment_context>", ""),
    ],
)
def test_injected_texts_are_known_by_how_they_begin(text: str, kept: str) -> None:
    assert typed(text) == kept


def test_of_a_fork_the_branch_that_is_typed_on_last_is_kept(tmp_path: Path) -> None:
    """The parent of both branches is a system line."""
    lines = [
        ASKED,
        ANSWERED,
        {"type": "system", "subtype": "turn_duration", "uuid": "y", "parentUuid": "a1", "sessionId": "s1"},
        claude_line("user", "u2", "y", "Fix it with sed", second=3),
        claude_line("assistant", "a2", "u2", "Done", second=4),
        claude_line("user", "u3", "y", "Fix it by hand", second=5),
        claude_line("assistant", "a3", "u3", "Fixed", second=6),
    ]
    texts = [text for _, text in said(one(write_lines(tmp_path / "s1.jsonl", lines)))]
    assert texts == ["Why does the build fail?", "A bracket is missing.", "Fix it by hand", "Fixed"]


def test_a_compaction_loses_nothing_wherever_it_links_to(tmp_path: Path) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "sessionId": "s1"}
    lines = [
        ASKED, ANSWERED, boundary | {"logicalParentUuid": "u1"},
        claude_line("user", "c", "b", "This session is being continued", isCompactSummary=True),
        claude_line("user", "u2", "c", "Go on", second=9),
    ]  # fmt: skip
    row = one(write_lines(tmp_path / "s1.jsonl", lines))
    assert [text for _, text in said(row)] == ["Why does the build fail?", "A bracket is missing.", "Go on"]


def test_a_fork_of_parallel_tool_calls_is_no_branch() -> None:
    parents = {"u1": None, "call1": "u1", "result1": "call1", "call2": "call1", "result2": "call2", "u2": "result2"}
    assert abandoned(parents, ["u1", "u2"]) == frozenset()
    assert abandoned({"a": None, "b": "a", "c": "a", "d": "b"}, ["b", "c"]) == {"b", "d"}


def test_a_summary_names_the_session_that_has_its_leaf_in_whatever_file_it_stands(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "s1.jsonl", [{"type": "summary", "summary": "Of another", "leafUuid": "zz"}, ASKED, ANSWERED]
    )
    other = {**claude_line("user", "v1", None, "Hello", second=9), "sessionId": "s2"}
    write_lines(tmp_path / "s2.jsonl", [{"type": "summary", "summary": "The missing bracket", "leafUuid": "a1"}, other])
    rows, _ = read_back(tmp_path)
    assert {row["session_id"]: row.get("name") for row in rows} == {"s1": "The missing bracket", "s2": None}


def test_a_resumed_session_that_repeats_the_first_is_one_with_the_first_id(tmp_path: Path) -> None:
    write_lines(tmp_path / "s1.jsonl", [ASKED, ANSWERED])
    again = [
        {**line, "sessionId": "s2"} for line in (ASKED, ANSWERED, claude_line("user", "u2", "a1", "Thanks", second=9))
    ]
    write_lines(tmp_path / "s2.jsonl", again)
    row = one(tmp_path)
    assert (row["session_id"], len(row["messages"])) == ("s1", 3)


def test_a_resumed_session_that_links_to_the_first_is_one(tmp_path: Path) -> None:
    write_lines(tmp_path / "s1.jsonl", [ASKED, ANSWERED])
    write_lines(tmp_path / "s2.jsonl", [{**claude_line("user", "u2", "a1", "Thanks", second=9), "sessionId": "s2"}])
    row = one(tmp_path)
    assert (row["session_id"], [text for _, text in said(row)][-1]) == ("s1", "Thanks")


def test_transcripts_of_agents_are_no_sessions(tmp_path: Path) -> None:
    write_lines(tmp_path / "s1.jsonl", [ASKED])
    write_lines(tmp_path / "agent-ab12.jsonl", [ANSWERED])
    write_lines(tmp_path / "s1" / "subagents" / "x.jsonl", [{**ANSWERED, "sessionId": "s9"}])
    assert len(one(tmp_path)["messages"]) == 1


def test_tool_calls_are_shown_as_asked(tmp_path: Path) -> None:
    call = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -la"}}]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a.py"}]}]
    lines = [ASKED, claude_line("assistant", "a1", "u1", call), claude_line("user", "r1", "a1", result)]
    path = write_lines(tmp_path / "s1.jsonl", lines)
    assert len(one(path)["messages"]) == 1
    assert said(one(path, tools="summary"))[1] == ("tool", "[Bash] ls -la")
    assert said(one(path, tools="full"))[1] == ("tool", '[Bash] {"command": "ls -la"}\na.py')


def test_a_broken_line_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s1.jsonl", [ASKED])
    path.write_text(path.read_text() + '{"type": "assis\n' + write_lines(tmp_path / "x", [ANSWERED]).read_text())
    rows, bad = read_back(path)
    assert len(rows[0]["messages"]) == 2
    assert bad[0].startswith("s1.jsonl:2: not JSON")


def test_several_lines_of_one_message_have_ids_that_occur_once(tmp_path: Path) -> None:
    lines = [ASKED, ANSWERED, claude_line("assistant", "a2", "a1", "I add it.", message_id="msg_a1")]
    row = one(write_lines(tmp_path / "s1.jsonl", lines))
    assert [message["message_id"] for message in row["messages"]] == ["u1", "msg_a1", "msg_a1#2"]
