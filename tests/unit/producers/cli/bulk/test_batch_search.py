"""Many questions from a file: each is asked once, whatever interrupts the run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from querymill import IngestMessages, MessageSearch
from querymill.cli.bulk.appended_file import UnusableFile
from querymill.cli.bulk.batch_search import BatchQuestion, ResultsFile, ask_all, read_questions
from querymill.cli.search import search_of
from querymill.ingesting.jsonl import BadLine
from querymill.testing import MemoryMill
from querymill_shared.contracts.fields import Lane
from tests.fixtures.chats import session

LINES = (
    '{"_id": "a", "query": "nine ships"}',
    "",
    '{"query": "soup", "limit": 1}',
    '{"_id": "a", "query": "again"}',
    '{"_id": "b", "query": "x", "collection": "other"}',
    '{"_id": "c", "query": "x", "limti": 3}',
    "[1]",
    "{",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as mill:
        mill.submit(
            IngestMessages(collection="c", documents=(session("s", "the fleet counts nine ships", "soup for lunch"),))
        ).result(timeout=10)
        yield mill


def read(path: Path) -> tuple[list[BatchQuestion], list[BadLine]]:
    lines = list(read_questions(path, {"kind": "messages", "collection": "c"}, search_of))
    return [line for line in lines if isinstance(line, BatchQuestion)], [
        line for line in lines if isinstance(line, BadLine)
    ]


def written(out: Path) -> dict[str, Any]:
    return {line["_id"]: line for line in map(json.loads, out.read_text().splitlines())}


def test_lines_are_searches_of_the_kind_and_the_collection(path: Path) -> None:
    questions, bad = read(path)
    assert [question.id for question in questions] == ["a", "3"]
    assert questions[0].request == MessageSearch(query="nine ships", collection="c", lane=Lane.BULK, deadline=600)
    assert [(line.number, line.reason.split(";")[0]) for line in bad] == [
        (4, "_id: 'a' stands on an earlier line too"),
        (5, "collection: the command says c"),
        (6, "limti: Extra inputs are not permitted"),
        (7, "must be a JSON object"),
        (8, "not JSON: Expecting property name enclosed in double quotes at column 1"),
    ]


def test_a_second_run_asks_what_has_no_result(path: Path, mill: MemoryMill, tmp_path: Path) -> None:
    questions, _ = read(path)
    out = tmp_path / "results.jsonl"
    with ResultsFile(out) as file:
        for answered in ask_all(mill, questions[:1], in_flight=4):
            file.write(answered)
    out.write_text(out.read_text() + '{"_id": "torn", "as')
    with ResultsFile(out) as file:
        assert [file.holds(question) for question in questions] == [True, False]
        for answered in ask_all(mill, [one for one in questions if not file.holds(one)], in_flight=4):
            file.write(answered)
    assert [written(out)[name]["result"]["results"][0]["content"] for name in ("a", "3")] == [
        "the fleet counts nine ships",
        "soup for lunch",
    ]


def test_a_changed_question_is_asked_again(path: Path, mill: MemoryMill, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    with ResultsFile(out) as file:
        for answered in ask_all(mill, read(path)[0], in_flight=1):
            file.write(answered)
    path.write_text(path.read_text().replace("nine ships", "lunch"))
    with ResultsFile(out) as file:
        assert [file.holds(question) for question in read(path)[0]] == [False, True]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "notes.txt"
    out.write_text("my notes\n")
    with pytest.raises(UnusableFile, match=r"notes.txt: line 1 is no result of a batch"):
        ResultsFile(out)
    assert out.read_text() == "my notes\n"
    out.write_text("my notes without an end of line")
    with pytest.raises(UnusableFile, match=r"notes.txt: line 1 is no line of a batch's results"):
        ResultsFile(out)
    assert out.read_text() == "my notes without an end of line"
    (tmp_path / "free").write_text("")
    with ResultsFile(tmp_path / "free"), pytest.raises(UnusableFile, match="another process is writing it"):
        ResultsFile(tmp_path / "free")
