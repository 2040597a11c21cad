"""A conversation on the terminal: each line of a pipe is a question, and is understood with the turns before it."""

from typing import Any

import pytest

from tests.fakes.answers import fenced_texts
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream
from tests.fixtures.command_line import CommandLine


@pytest.mark.usefixtures("filings")
def test_a_conversation_in_a_pipe(querymill: CommandLine, openai_server: OpenAIServer) -> None:
    answer, anew = chat_stream("Forty million [1]."), chat_answer("<how did the revenue of Nordhav develop?>")
    openai_server.script.chat = lambda request: answer if request.get("stream") else anew
    openai_server.requests.clear()
    asked = ["what was the revenue of Nordhav in 2022?", "", "how did it develop?", "/new", "how did it develop?"]
    run = querymill("chat", "filings", given="\n".join([*asked, "/quit", "never asked"]))
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("Forty million [1].") == 3
    assert "[1] Nordhav" in run.stdout
    writing: list[Any] = [request for request in openai_server.seen("completions") if request.get("stream")]
    assert [fenced_texts(request, "question") for request in writing] == [[asked[0]], [asked[2]], [asked[2]]]
    assert [fenced_texts(request, "earlier question") for request in writing] == [[], [asked[0]], []]
    assert fenced_texts(writing[1], "earlier answer") == ["Forty million [ 1]."]


@pytest.mark.usefixtures("filings")
def test_what_goes_wrong_is_said_and_the_conversation_goes_on(
    querymill: CommandLine, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda request: Answer(b'{"error": {"message": "no such key"}}', status=401)
    question = "what was the revenue of Nordhav in 2022?"
    run = querymill("chat", "filings", given=f"{question}\n")
    assert run.returncode == 0, "as `querymill answer`: a quotation is an answer"
    assert "forty million [1]" in run.stdout
    assert "quoted from the hits; no chat model wrote it" in run.stdout
    assert "degraded: write: the answer is a quotation: " in run.stderr
    assert "401" in run.stderr
    assert "hyde" in run.stderr, "a chat model that writes answers is asked for a hypothetical hit, too"
    assert "CHAT_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY name the chat model" in run.stderr
    run = querymill("chat", "filings", "--no-expand", given=f"{'x' * 8_001}\n{question}\n")
    assert "hyde" not in run.stderr
    assert run.returncode == 1, "a question was not answered"
    assert "at most 8,000 characters" in run.stderr
    assert "forty million [1]" in run.stdout


@pytest.mark.usefixtures("openai_server")
def test_a_collection_that_holds_nothing_is_named_before_the_first_question(querymill: CommandLine) -> None:
    run = querymill("chat", "nowhere", given="anybody?\n")
    assert run.returncode != 0
    assert "nowhere" in run.stderr
    assert "Traceback" not in run.stderr
