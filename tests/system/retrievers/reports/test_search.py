"""A question from the client's call to the answer: real board, real database, real worker, scripted models."""

import asyncio
import re
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
import redis
from pydantic import ValidationError

from querymill import (
    AsyncQuerymill,
    Querymill,
    ReportSearch,
    UnknownCollection,
)
from querymill_shared.contracts.events import Done, Hits, Queued, StageStarted
from tests.fakes.openai_server import (
    Answer,
    OpenAIServer,
    chat_answer,
    embedded,
    embedding_answer,
    method_of,
)
from tests.fixtures.deployment import Deployment
from tests.fixtures.short_forms import named_at_night

ALL = ("synonym", "subquestion", "variant")


def search(query: str = "how did revenue develop", **fields: Any) -> ReportSearch:
    return ReportSearch.model_validate(
        {"query": query, "collection": "filings", "return_parent_pages": True, "deadline": 20} | fields
    )


def fresh(text: str = "how did revenue develop") -> str:
    """A question no cache has seen."""
    return f"{text} {time.monotonic_ns()}"


@pytest.mark.usefixtures("filings")
def test_a_question_is_answered_with_every_branch(mill: Querymill, openai_server: OpenAIServer) -> None:
    def reply(request: dict[str, Any]) -> Answer:
        text = fresh("revenue rose to million by " + method_of(request))
        return chat_answer(f"| item | {text} |" if method_of(request) == "hyde" else f"<{text}>")

    openai_server.script.chat = reply
    question = fresh("what was the revenue of Nordhav in 2022?")
    openai_server.requests.clear()
    result = mill.submit(search(question, hyde=True, multi_query=ALL)).result(30)
    assert (result.results[0].document, result.results[0].page) == ("a1", 2)
    assert result.complete
    assert set(result.expansion_texts) == {"hyde", *ALL}
    assert result.routing.companies == ("Nordhav",)
    assert {stage.name for stage in result.stages} == {"original", "hyde", *ALL}
    # Four chat calls, and the five texts in as many requests as they did not travel together.
    assert result.usage["provider_calls"] == len(openai_server.requests)
    assert 5 <= result.usage["provider_calls"] <= 9
    assert sum(len(body["input"]) for body in openai_server.seen("embeddings")) == 5


@pytest.mark.usefixtures("filings")
def test_branches_run_side_by_side_and_the_first_hits_come_before_the_first_reply(
    mill: Querymill, openai_server: OpenAIServer
) -> None:
    together, hits_are_told = threading.Barrier(len(ALL)), threading.Event()

    def reply(request: dict[str, Any]) -> Answer:
        together.wait(15)  # one after the other, they would wait in vain
        assert hits_are_told.wait(15)
        return chat_answer(f"<question by {method_of(request)}>")

    openai_server.script.chat = reply
    events = []
    for event in mill.submit(search(fresh(), multi_query=ALL, deadline=30)).events(timeout=60):
        events.append(event)
        if isinstance(event, Hits):
            hits_are_told.set()
    assert events[-1] == Done(complete=True)


@pytest.mark.usefixtures("filings")
def test_at_the_deadline_the_answer_is_what_is_there_and_names_what_is_missing(
    mill: Querymill, openai_server: OpenAIServer
) -> None:
    is_over = threading.Event()

    def slow(request: dict[str, Any]) -> Answer:
        assert method_of(request) == "synonym" or is_over.wait(30)
        return chat_answer(f"<question by {method_of(request)}>")

    openai_server.script.chat = slow
    started = time.monotonic()
    result = mill.submit(search(fresh(), multi_query=ALL, deadline=4)).result(timeout=60)
    assert time.monotonic() - started < 18
    is_over.set()
    assert not result.complete
    assert {part.stage for part in result.degraded} == {"subquestion", "variant"}
    assert result.results


@pytest.mark.usefixtures("filings")
def test_a_branch_whose_embedding_hangs_is_answered_by_its_words(mill: Querymill, openai_server: OpenAIServer) -> None:
    is_embedded, is_over = threading.Event(), threading.Event()

    def stuck(request: dict[str, Any]) -> Answer:
        is_embedded.set()
        assert "stuck" not in request["input"][0] or is_over.wait(30)
        return embedded(request)

    def late(_: dict[str, Any]) -> Answer:
        # Not before the question's own call: one call may carry both.
        assert is_embedded.wait(30)
        return chat_answer(f"<stuck {time.monotonic_ns()}>")

    openai_server.script.embeddings, openai_server.script.chat = stuck, late
    result = mill.submit(search(fresh(), multi_query=("variant",))).result(timeout=60)
    is_over.set()
    assert [part.stage for part in result.degraded] == ["embed"]
    assert result.results


@pytest.mark.usefixtures("filings")
def test_the_events_tell_the_whole_way(mill: Querymill) -> None:
    job = mill.submit(search(fresh(), hyde=True))
    events = list(job.events(timeout=10))
    assert events[0] == Queued(stages=("original", "hyde"))
    assert isinstance(events[-1], Done)
    for stage in ("original", "hyde"):
        assert StageStarted(stage=stage, attempt=1) in events
    assert list(job.events(timeout=10)) == events


GARBAGE = {
    "empty": chat_answer(""),
    "no content": chat_answer(None),
    "content is no text": chat_answer({"a": 1}),
    "nothing wrapped": chat_answer("I cannot help with that."),
    "ten megabytes": chat_answer("lorem ipsum < " * 750_000),
    "invalid UTF-8": Answer(b'{"choices": [{"message": {"content": "\xff\xfe\xff"}}]}'),
    "no JSON": Answer(b"<html>bad gateway</html>"),
    "truncated JSON": Answer(b'{"choices": [{"mess'),
    "no choices": Answer(b'{"choices": []}'),
    "another shape": Answer(b"[1, 2, 3]"),
    "null": Answer(b"null"),
    "server error": Answer(b"{}", status=500),
    "rate limited": Answer(b"{}", status=429, headers={"Retry-After": "30"}),
    "redirected": Answer(b"", status=302, headers={"Location": "http://127.0.0.1:9/steal"}),
}


@pytest.mark.usefixtures("filings")
@pytest.mark.parametrize(
    "answer",
    named_at_night(GARBAGE, short=["no content", "nothing wrapped", "no choices", "rate limited", "server error"]),
)
def test_a_chat_model_that_talks_nonsense_degrades_its_branch_only(
    mill: Querymill, openai_server: OpenAIServer, answer: Answer
) -> None:
    openai_server.script.chat = lambda request: answer
    result = mill.submit(search(fresh(), multi_query=("variant",))).result(timeout=30)
    assert [part.stage for part in result.degraded] == ["variant"]
    assert result.results


def vectors(*rows: list[float]) -> Answer:
    return embedding_answer(list(rows))


REFUSED = {
    "wrong dimension": vectors([0.1, 0.2, 0.3]),
    "not a number": vectors([float("nan")] * 384),
    "infinite": vectors([float("inf")] * 384),
    "bad request": Answer(b'{"error": {"message": "no"}}', status=400),
}
AWAY = {
    "away": Answer(b"{}", status=503),
    "too few vectors": vectors(),
    "too many vectors": vectors([0.1] * 384, [0.1] * 384),
    "no JSON": Answer(b"oops"),
    "no data": Answer(b'{"object": "list"}'),
}


@pytest.mark.usefixtures("filings")
@pytest.mark.parametrize(
    "answer", named_at_night(REFUSED | AWAY, short=["wrong dimension", "bad request", "away", "too few vectors"])
)
def test_without_the_embedding_server_words_answer_and_the_result_says_so(
    mill: Querymill, openai_server: OpenAIServer, answer: Answer
) -> None:
    openai_server.script.embeddings = lambda request: answer
    for ranking in ("hybrid", "agreement"):
        # One after the other: two questions would share a call, and two vectors would be right.
        result = mill.submit(search(fresh("nine ships"), ranking=ranking, deadline=5)).result(timeout=30)
        assert (result.results[0].document, result.results[0].page) == ("a1", 1)
        assert [gap.stage for gap in result.degraded] == ["embed"]
        assert re.search("embedding|circuit open", result.degraded[0].reason)
        assert not result.complete


@pytest.mark.usefixtures("filings")
def test_a_result_says_that_the_provider_is_left_alone_and_vectors_count_when_it_is_back(
    mill: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda request: Answer(b"{}", status=503)
    until = time.monotonic() + 30
    while "circuit open" not in (result := mill.submit(search(fresh())).result(timeout=30)).degraded[0].reason:
        assert time.monotonic() < until
    assert "multilingual-e5-small failed 5 times in a row" in result.degraded[0].reason
    assert result.results
    openai_server.script.embeddings = embedded
    while not mill.submit(search(fresh())).result(timeout=30).complete:
        assert time.monotonic() < until + 30


@pytest.mark.usefixtures("filings")
def test_an_unknown_collection_is_refused_and_nothing_is_enqueued(mill: Querymill, board_client: redis.Redis) -> None:
    before = board_client.keys("qm:*:job")
    with pytest.raises(UnknownCollection, match=r"collection: no reports in 'nowhere'; .*filings"):
        mill.submit(search(collection="nowhere"))
    assert board_client.keys("qm:*:job") == before


BAD: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "query"),
    ({"query": "  \n"}, "query"),
    ({"query": "x" * 8001}, "query"),
    ({"top_n": 0}, "top_n"),
    ({"top_n": 201}, "top_n"),
    ({"inner_factor": float("nan")}, "inner_factor"),
    ({"inner_factor": float("inf")}, "inner_factor"),
    ({"deadline": float("inf")}, "deadline"),
    ({"deadline": -1}, "deadline"),
    ({"multi_query": ["dance"]}, "multi_query"),
    ({"multi_query": ["variant", "variant"]}, "multi_query"),
    ({"candidates": 3}, "candidates"),
    ({"collection": "a b"}, "collection"),
    ({"company": " "}, "company"),
    ({"surprise": 1}, "surprise"),
]


@pytest.mark.parametrize(("fields", "name"), BAD, ids=[f"{name}-{n}" for n, (_, name) in enumerate(BAD)])
def test_bad_input_names_the_field(fields: dict[str, Any], name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        search(**fields)


@pytest.mark.usefixtures("filings")
def test_the_asynchronous_client_does_the_same(deployment: Deployment) -> None:
    async def ask() -> tuple[Sequence[str], bool]:
        async with AsyncQuerymill(settings=deployment.settings) as mill:
            jobs = [await mill.submit(search(fresh(), hyde=True)) for _ in range(5)]
            results = await asyncio.gather(*(job.result(timeout=30) for job in jobs))
            events = [event.type async for event in jobs[0].events(timeout=20)]
            return events, all(result.complete for result in results)

    events, complete = asyncio.run(ask())
    assert complete
    assert (events[0], events[-1]) == ("queued", "done")


@pytest.mark.usefixtures("filings")
def test_no_question_and_no_passage_is_logged(mill: Querymill, worker: Any, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda request: Answer(b"oops")
    question = "zanzibar turnover question"
    mill.submit(search(question, hyde=True)).result(timeout=30)
    openai_server.script.embeddings = lambda request: Answer(b"{}", status=400)
    assert not mill.submit(search(question + " again")).result(timeout=30).complete
    assert "zanzibar" not in worker.log
    assert "forty million" not in worker.log
