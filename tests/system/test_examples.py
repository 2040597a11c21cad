"""The examples, run as their readers would run them, on the servers that all tests share."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import uvicorn

from querymill import Job, Querymill
from querymill_embedded import free_ports
from tests.fakes.answers import fenced_texts
from tests.fakes.openai_server import OpenAIServer, chat_stream
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, read_stream
from tests.fixtures.tallies import until

EXAMPLES = Path(__file__).parents[2] / "producers" / "examples"
QUESTION = "what was the revenue of Nordhav in 2022?"
PAGE = "revenue rose to forty million"

Import = Callable[[str], ModuleType]


@pytest.fixture
def environment(request: pytest.FixtureRequest, deployment: Deployment) -> dict[str, str]:
    """What their readers set: where the board is, and with `--client http` a gateway, which is then asked."""
    if request.config.getoption("client") == "board":
        return dict(deployment.environment)
    return deployment.environment | {"MILL_URL": request.getfixturevalue("gateway_of_client").url}


@pytest.fixture
def imported(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Import:
    """Imports an example, whose client reads where the board is from the environment."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def load(path: str) -> ModuleType:
        name = path.replace("/", "_").removesuffix(".py")
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


def printed(environment: dict[str, str], path: str, *arguments: str) -> str:
    """Run an example as its first lines say."""
    command = [sys.executable, str(EXAMPLES / path), *arguments]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly  # by day: system/adapters
def test_the_chain_of_langchain_quotes_the_best_page(filings: str, environment: dict[str, str]) -> None:
    said = printed(environment, "langchain_chain/chain.py", filings, QUESTION)
    assert said == f"[1] Nordhav Shipping 2022, page 2: {PAGE}\n"


@pytest.mark.nightly  # by day: gateway/test_agents.py
def test_the_agent_searches_reads_and_names_the_place(filings: str, environment: dict[str, str]) -> None:
    said = printed(environment, "mcp_agent/agent.py", filings, QUESTION)
    assert said.startswith("From reports:filings/a1#p2:\n")
    assert PAGE in said


def test_the_views_of_django_search_and_name_mistakes(filings: str, imported: Import) -> None:
    app = imported("django_view/app.py")
    from django.test import AsyncRequestFactory, RequestFactory

    synchronous, asynchronous = RequestFactory(), AsyncRequestFactory()
    answered = json.loads(app.search(synchronous.get("/search/", {"q": QUESTION})).content)
    assert (answered["complete"], answered["hits"][0]["text"]) == (True, PAGE)
    refused = app.search(synchronous.get("/search/"))
    assert (refused.status_code, "query" in json.loads(refused.content)["error"]) == (400, True)

    async def asked() -> dict[str, object]:
        try:
            response = await app.asearch(asynchronous.get("/asearch/", {"q": QUESTION}))
            return dict(json.loads(response.content))
        finally:
            await app.async_mill.close()

    assert asyncio.run(asked())["hits"] == answered["hits"]
    app.mill.close()


@pytest.fixture
def chat(imported: Import, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the chat backend, which searches the filings."""
    monkeypatch.setenv("COLLECTIONS", "filings")
    port = free_ports(["chat"], preferred={})["chat"]
    server = uvicorn.Server(
        uvicorn.Config(imported("chat_fastapi/app.py").app, port=port, log_level="warning", ws="none")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(PATIENCE_S)


def asked_of(chat: str, question: str, session: str = "s1") -> list[Any]:
    """The events of a question in a session of the chat."""
    asked = {"question": question, "session": session}
    with httpx.stream("GET", f"{chat}/ask", params=asked, timeout=PATIENCE_S) as stream:
        return list(read_stream(stream.iter_lines()))


def test_the_chat_streams_hits_and_answers_and_knows_what_was_said(
    filings: str, chat: str, openai_server: OpenAIServer, mill: Querymill
) -> None:
    openai_server.script.chat = lambda _: chat_stream("Revenue rose ", "to forty million [1].")
    assert "new EventSource" in httpx.get(chat).text
    hits, *parts, result = asked_of(chat, QUESTION)
    assert (hits.type, {part.type for part in parts}, result.type) == ("hits", {"answer"}, "result")
    assert (hits.data[0]["title"], hits.data[0]["text"]) == ("Nordhav Shipping 2022, page 2", PAGE)
    assert result.data["answer"]["text"] == "Revenue rose to forty million [1]."
    assert result.data["labels"] == {"session": "s1", "turn": "1"}
    openai_server.requests.clear()
    *_, late = asked_of(chat, "And in 2021?")
    assert late.data["labels"] == {"session": "s1", "turn": "2"}
    (writing,) = openai_server.seen("completions")
    assert fenced_texts(writing, "earlier question") == [QUESTION]
    (problem,) = asked_of(chat, " ")
    assert (problem.type, "query" in problem.data) == ("problem", True)
    assert {job.picture().record.kind for job in mill.recent(labels={"session": "s1"})} == {"search", "answer"}


def test_a_reader_of_the_chat_who_leaves_or_asks_anew_cancels_the_job(
    filings: str, chat: str, openai_server: OpenAIServer, mill: Querymill
) -> None:
    left = threading.Event()
    openai_server.script.chat = lambda _: chat_stream("never ", "read", gate=lambda _: left.wait(PATIENCE_S))
    of_session = {"session": "s2"}

    def answering() -> list[Job[Any]]:
        jobs = [job for job in mill.recent(labels=of_session) if job.picture().record.kind == "answer"]
        return [job for job in jobs if not job.picture().record.is_over]

    try:
        asked = {"question": QUESTION, **of_session}
        with httpx.stream("GET", f"{chat}/ask", params=asked, timeout=PATIENCE_S) as former:
            lines = read_stream(former.iter_lines())
            assert next(lines).type == "hits"
            until(lambda: bool(answering()))
            (job,) = answering()
            with httpx.stream("GET", f"{chat}/ask", params=asked, timeout=PATIENCE_S) as later:
                later_lines = read_stream(later.iter_lines())  # held: without it the stream is closed
                assert next(later_lines).type == "hits"
                assert [event.type for event in lines][-1] == "problem", "a later question of the session came"
                assert job.picture().record.state == "cancelled"
                until(lambda: bool(answering()))
                (job,) = answering()
        until(lambda: job.picture().record.state == "cancelled")
    finally:
        left.set()
