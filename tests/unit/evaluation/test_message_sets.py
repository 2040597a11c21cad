"""Evaluation sets of messages: sessions, and the queries asked of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from querymill_evaluation.message_sets import MessageSet, filter_fields, read_message_set
from querymill_evaluation.sets import BadSet


def message(name: str, session: str, **metadata: Any) -> dict[str, Any]:
    known = {"session_id": session, "created_at": "2026-01-01T00:00:00", "message_role": "user"}
    return {"_id": name, "text": f"text of {name}", "metadata": known | metadata}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = [message("a", "s"), message("b", "s"), message("c", "t")]
    queries = [
        {"_id": "q1", "text": "one", "metadata": {"session_id": "s", "exclude_message_id": "a"}},
        {"_id": "q2", "text": "two", "metadata": {"session_id": "t"}},
        {"_id": "q3", "text": "not judged", "metadata": {"session_id": "t"}},
    ]
    for name, lines in (("corpus", corpus), ("queries", queries), ("queries_unanswerable", queries[2:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tb\t1\nq2\tc\t1\n")
    return tmp_path


def asked(chosen: MessageSet) -> list[str]:
    return [query.query_id for query in chosen.queries]


def test_what_queries_are_filtered_by_is_a_session(folder: Path) -> None:
    found = read_message_set(folder)
    assert [(one.session_id, [m.message_id for m in one.messages]) for one in found.sessions] == [
        ("s", ["a", "b"]), ("t", ["c"]),
    ]  # fmt: skip
    assert asked(found) == ["q1", "q2"]
    assert filter_fields(found.queries[0]) == {"session_id": "s", "exclude_message_id": "a"}
    assert filter_fields(found.queries[1]) == {"session_id": "t"}


def test_a_conversation_is_wider_than_its_sessions(folder: Path) -> None:
    lines = [message(name, f"c/{name}", conversation_id="c") for name in "ab"]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [one.session_id for one in read_message_set(folder).sessions] == ["c"]


def test_the_first_sessions_come_with_the_queries_asked_of_them(folder: Path) -> None:
    assert asked(read_message_set(folder, max_sessions=1)) == ["q1"]
    assert asked(read_message_set(folder, queries="queries_unanswerable")) == ["q3"]


def rewrite(folder: Path, *lines: dict[str, Any]) -> Path:
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_our_own_lines_of_sessions_are_a_set(folder: Path) -> None:
    messages = [{"message_id": "b", "role": "user", "text": "ships"}, {"message_id": "c", "role": "user", "text": "x"}]
    own = [{"session_id": name, "started_at": "2026-01-01", "messages": messages} for name in "st"]
    found = read_message_set(rewrite(folder, *own))
    assert [(one.session_id, [m.message_id for m in one.messages]) for one in found.sessions] == [
        ("s", ["b", "c"]), ("t", ["b", "c"]),
    ]  # fmt: skip
    assert asked(found) == ["q1", "q2"]


def test_messages_that_name_no_session_are_in_one_of_the_set_and_asked_all_together(folder: Path) -> None:
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "one"}\n')
    lines: list[dict[str, Any]] = [{"_id": "a", "title": "", "text": "x"}, {"_id": "b", "text": "y", "metadata": {}}]
    found = read_message_set(rewrite(folder, *lines))
    assert [[m.message_id for m in one.messages] for one in found.sessions] == [["a", "b"]]
    assert filter_fields(found.queries[0]) == {}
    many = read_message_set(rewrite(folder, *({"_id": f"{n}", "text": "x"} for n in range(5_001))))
    assert sum(len(one.messages) for one in many.sessions) == 5_001


def test_a_bad_line_is_named_with_its_field(folder: Path) -> None:
    with pytest.raises(BadSet, match="corpus, line 2: text: Field required"):
        read_message_set(rewrite(folder, message("a", "s"), {"_id": "b"}))
    with pytest.raises(BadSet, match=r"corpus, line 1: messages: .*at least 1 item"):
        read_message_set(rewrite(folder, {"session_id": "s", "started_at": "2026-01-01", "messages": []}))
