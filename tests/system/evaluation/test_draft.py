"""`querymill eval draft`: questions from a collection, confirmed in a terminal, and measured as a set."""

import json
from pathlib import Path

import pytest

from querymill import ChatSession, IngestConversations, Querymill
from tests.fakes.openai_server import OpenAIServer, chat_stream
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import finish_embedding

pytestmark = pytest.mark.usefixtures("worker")
SUBJECTS = ("harbour dredging permits", "crane purchase contracts", "ferry timetable changes")


@pytest.fixture
def chats(mill: Querymill, openai_server: OpenAIServer, request: pytest.FixtureRequest) -> str:
    collection = str(request.node.name)[:60]
    for number, subject in enumerate(SUBJECTS):
        session = ChatSession.model_validate({
            "session_id": f"s{number}", "started_at": "2026-01-01T00:00:00Z",
            "messages": [{"text": f"Yesterday we discussed {subject} with colleagues."}],
        })  # fmt: skip
        mill.submit(IngestConversations(collection=collection, documents=(session,))).result(timeout=30)
    finish_embedding(mill)
    return collection


def test_kept_and_edited_questions_make_a_set_and_stopping_loses_nothing(
    querymill: CommandLine, chats: str, tmp_path: Path
) -> None:
    out = tmp_path / "drafted"
    first = querymill("eval", "draft", chats, "--kind", "conversations", "--out", out, given="k\nx\ns\n")
    assert first.returncode == 0, first.stderr
    assert "answer k, e, d or s" in first.stderr
    assert "1 questions in" in first.stderr
    assert "2 pending" in first.stderr
    second = querymill(
        "eval", "draft", chats, "--kind", "conversations", "--out", out, given="e\nwhat about the quay?\nd\n"
    )
    assert second.returncode == 0, second.stderr
    assert "2 questions in" in second.stderr
    queries = [json.loads(line) for line in (out / "queries.jsonl").read_text().splitlines()]
    assert [query["text"] == "what about the quay?" for query in queries] == [False, True]
    measured = querymill("eval", out, "--kind", "conversations", "--json")
    assert measured.returncode == 0, measured.stderr
    figures = json.loads(measured.stdout)
    assert (figures["queries"], figures["set"]) == (2, "drafted")
    assert figures["recall@10"] >= 0.5  # the kept question has words of its session


def test_the_end_of_the_input_is_a_stop(querymill: CommandLine, chats: str, tmp_path: Path) -> None:
    run = querymill("eval", "draft", chats, "--kind", "conversations", "--out", tmp_path / "d", given="k\n")
    assert run.returncode == 0, run.stderr
    assert "1 questions in" in run.stderr
    assert "go on: querymill eval draft" in run.stderr


def test_a_chat_model_writes_the_questions(
    querymill: CommandLine, chats: str, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.script.chat = lambda _: chat_stream("Who spoke about it yesterday? [1]")
    run = querymill(
        "eval", "draft", chats, "--kind", "conversations", "--out", tmp_path / "d", "--chat", given="k\nk\nk\n"
    )
    assert run.returncode == 0, run.stderr
    queries = [json.loads(line) for line in (tmp_path / "d" / "queries.jsonl").read_text().splitlines()]
    assert {query["text"] for query in queries} == {"Who spoke about it yesterday?"}
    assert {query["metadata"]["drafted_by"] for query in queries} == {"chat model"}


def test_an_empty_collection_is_refused(querymill: CommandLine, tmp_path: Path) -> None:
    run = querymill("eval", "draft", "nobodyhere", "--kind", "conversations", "--out", tmp_path / "d")
    assert run.returncode == 2
    said = " ".join(run.stderr.split())
    assert "collection: 'nobodyhere' must hold at least one document of the kind 'conversations'" in said
    assert not list((tmp_path / "d").iterdir())
