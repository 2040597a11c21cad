"""The OpenAI-compatible routes by the `openai` package, against a running gateway with keys, workers and models."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, cast

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from querymill import Querymill
from querymill.keys import Keyring, Scope
from querymill_shared.board import ValkeyBoard, Verdict
from tests.fakes.answers import fenced_texts
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream, reworded
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.tallies import until

QUESTION = [{"role": "user", "content": "Nordhav 2022: revenue rose to?"}]


@pytest.fixture(scope="module")
def guarded(deployment: Deployment) -> Iterator[tuple[str, str, str]]:
    """The address of a gateway, a key of the collection, and one of another collection."""
    with keys_on(deployment.settings) as keyring, GatewayHere(deployment.settings) as gateway:
        own = bearer(keyring, "filings", default_collection="filings")["Authorization"]
        other = bearer(keyring, "elsewhere")["Authorization"]
        yield gateway.url, own.removeprefix("Bearer "), other.removeprefix("Bearer ")


@pytest.fixture
def client(guarded: tuple[str, str, str], filings: str) -> Iterator[openai.OpenAI]:
    url, key, _ = guarded
    with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=PATIENCE_S) as connected:
        yield connected


def ask(client: openai.OpenAI, messages: Any = QUESTION, **more: Any) -> ChatCompletion:
    answered: ChatCompletion = client.chat.completions.create(model="filings", messages=messages, **more)
    return answered


def saying(*parts: str, **how: Any) -> Any:
    return lambda request: chat_stream(*parts, **how)


def test_an_answer_has_citations_annotations_and_true_usage(
    client: openai.OpenAI, openai_server: OpenAIServer, guarded: tuple[str, str, str]
) -> None:
    openai_server.script.chat = saying("Revenue rose to ", "forty million [1", "].")
    answered = ask(client, temperature=0.1, user="u1")
    (choice,) = answered.choices
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    assert choice.message.content == "Revenue rose to forty million [1]."
    (annotation,) = choice.message.annotations or []
    cited = annotation.url_citation
    assert (cited.title, choice.message.content[cited.start_index : cited.end_index]) == (
        "Nordhav Shipping 2022, page 2", "[1]",
    )  # fmt: skip
    assert cited.url == f"{guarded[0]}/console/collections/filings/reports/a1?page=2"
    assert answered.usage is not None
    assert answered.usage.model_dump(exclude_none=True) == {
        "prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13,
    }  # fmt: skip
    assert (answered.object, answered.model) == ("chat.completion", "filings")


def test_a_stream_tells_the_answer_as_it_is_written(client: openai.OpenAI, openai_server: OpenAIServer) -> None:
    heard = threading.Event()

    def gate(sent: int) -> None:
        # What comes last waits until the client has heard what came first.
        assert sent < 3 or heard.wait(PATIENCE_S)
        time.sleep(0.25 if sent else 0)

    openai_server.script.chat = saying("Revenue rose ", "to forty ", "million ", "[1].", gate=gate)
    deltas, annotations, ended, usage = [], [], [], []
    stream: openai.Stream[ChatCompletionChunk] = client.chat.completions.create(
        model="filings", messages=cast("Any", QUESTION), stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        usage += [chunk.usage] if chunk.usage is not None else []
        for choice in chunk.choices:
            if choice.delta.content:
                deltas.append(choice.delta.content)
                heard.set()
            annotations += (choice.delta.model_extra or {}).get("annotations", [])
            ended += [choice.finish_reason] if choice.finish_reason else []
    assert "".join(deltas) == "Revenue rose to forty million [1]."
    assert len(deltas) > 1
    assert [each["url_citation"]["title"] for each in annotations] == ["Nordhav Shipping 2022, page 2"]
    assert ended == ["stop"]
    assert [each.total_tokens for each in usage] == [14]


def test_it_is_awaited_and_streamed_by_the_asynchronous_client(
    filings: str, openai_server: OpenAIServer, guarded: tuple[str, str, str]
) -> None:
    openai_server.script.chat = saying("Forty ", "million [1].")

    async def both() -> tuple[str | None, str]:
        async with openai.AsyncOpenAI(base_url=f"{guarded[0]}/v1", api_key=guarded[1], max_retries=0) as client:
            whole = await client.chat.completions.create(model="filings/reports", messages=cast("Any", QUESTION))
            stream = await client.chat.completions.create(model="filings", messages=cast("Any", QUESTION), stream=True)
            parts = [choice.delta.content or "" async for chunk in stream for choice in chunk.choices]
            return whole.choices[0].message.content, "".join(parts)

    assert asyncio.run(both()) == ("Forty million [1].", "Forty million [1].")


def test_a_stream_ends_with_done(filings: str, openai_server: OpenAIServer, guarded: tuple[str, str, str]) -> None:
    openai_server.script.chat = saying("Forty million [1].")
    with httpx.Client(
        base_url=guarded[0], headers={"Authorization": f"Bearer {guarded[1]}"}, timeout=PATIENCE_S
    ) as http:
        # Without a model the default collection of the key is asked.
        answer = http.post("/v1/chat/completions", json={"messages": QUESTION, "stream": True})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert answer.text.endswith("\n\ndata: [DONE]\n\n")


def test_a_question_that_refers_back_is_asked_with_the_one_before(
    client: openai.OpenAI, openai_server: OpenAIServer
) -> None:
    answer, anew = chat_stream("Thirty million [1]."), chat_answer("<Nordhav 2021: revenue rose to?>")
    openai_server.script.chat = lambda request: (
        answer if request.get("stream") else anew if fenced_texts(request, "earlier question") else reworded(request)
    )
    before = [*QUESTION, {"role": "assistant", "content": "Forty million [1]."}]
    messages = [{"role": "system", "content": "Be short."}, *before, {"role": "user", "content": "And in 2021?"}]
    assert (ask(client, messages).model_extra or {})["querymill"]["missing"] == []
    in_chat = [request for request in openai_server.seen("completions") if fenced_texts(request, "earlier question")]
    rewriting, writing = sorted(in_chat, key=lambda request: bool(request.get("stream")))
    for request in (rewriting, writing):
        assert fenced_texts(request, "question") == ["And in 2021?"]
        assert fenced_texts(request, "earlier question") == [QUESTION[0]["content"]]


def test_collections_are_the_models_of_their_keys(client: openai.OpenAI, guarded: tuple[str, str, str]) -> None:
    assert [model.id for model in client.models.list()] == ["filings"]
    assert client.models.retrieve("filings").object == "model"
    assert list(client.with_options(api_key=guarded[2]).models.list()) == []


def test_errors_are_those_that_the_package_knows(client: openai.OpenAI, guarded: tuple[str, str, str]) -> None:
    with pytest.raises(openai.NotFoundError, match="There is no such model") as missing:
        ask(client.with_options(api_key=guarded[2]))
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.AuthenticationError, match="Authorization"):
        ask(client.with_options(api_key="qm_wrong"))
    with pytest.raises(openai.BadRequestError, match="must hold a message of the user") as empty:
        ask(client, [{"role": "system", "content": "x"}])
    assert empty.value.param == "messages"
    with pytest.raises(openai.BadRequestError, match="n: Input should be less than or equal to 1"):
        ask(client, n=2)


@pytest.mark.parametrize("stream", [False, True])
def test_without_a_chat_model_the_hits_are_quoted(
    client: openai.OpenAI, openai_server: OpenAIServer, stream: bool
) -> None:
    openai_server.script.chat = lambda request: Answer(b'{"error": {"message": "no such key"}}', status=401)
    asked: Any = client.chat.completions.create(model="filings", messages=cast("Any", QUESTION), stream=stream)
    chunks = list(asked) if stream else [asked]
    choices = [choice for chunk in chunks for choice in chunk.choices]
    said = "".join((choice.delta if stream else choice.message).content or "" for choice in choices)
    assert said == "revenue rose to forty million [1]"
    assert choices[-1].finish_reason == "stop"
    (more,) = [chunk.model_extra["querymill"] for chunk in chunks if "querymill" in (chunk.model_extra or {})]
    assert more["quoted"]
    assert "401" in more["missing"][0]


def test_a_job_that_failed_is_no_error_of_the_server(
    client: openai.OpenAI, openai_server: OpenAIServer, mill: Querymill, deployment: Deployment
) -> None:
    is_asked, may_go_on = threading.Event(), threading.Event()

    def held(_: dict[str, Any]) -> Answer:
        is_asked.set()
        may_go_on.wait(PATIENCE_S)
        return chat_stream("too late")

    openai_server.script.chat = held
    earlier = {job.id for job in mill.recent(limit=100)}
    with ThreadPoolExecutor() as pool, closing(ValkeyBoard.connect(deployment.settings)) as board:
        asked = pool.submit(ask, client, extra_body={"expand": False})
        assert is_asked.wait(PATIENCE_S)
        new = [job for job in mill.recent(limit=100) if job.id not in earlier]
        (job,) = [job for job in new if "answer" in {step.name for step in job.picture().steps}]
        assert board.settle(job.id, Verdict("failed", reason="no search came through"))
        may_go_on.set()
        with pytest.raises(openai.APIStatusError, match="no search came through") as failed:
            asked.result(timeout=PATIENCE_S)
    assert (failed.value.status_code, failed.value.code) == (424, "job_failed")


@pytest.mark.parametrize("stream", all_at_night([False, True], short=[True]))
def test_an_answer_that_breaks_off_ends_as_a_quotation(
    client: openai.OpenAI, openai_server: OpenAIServer, stream: bool
) -> None:
    openai_server.script.chat = saying("Revenue rose ", "to forty million [1] ", "as ", apart_s=0.2, ends="cut")
    asked: Any = client.chat.completions.create(model="filings", messages=cast("Any", QUESTION), stream=stream)
    choices = [choice for chunk in asked for choice in chunk.choices] if stream else asked.choices
    said = "".join((choice.delta if stream else choice.message).content or "" for choice in choices)
    begun, _, quoted = said.rpartition("\n\n---\n\nThe chat model broke off. Quoted from the sources instead:\n\n")
    assert begun.startswith("Revenue rose") is stream, "what was sent before cannot be taken back"
    assert quoted == "revenue rose to forty million [1]"
    assert choices[-1].finish_reason == "stop", "the quotation is whole"


@pytest.mark.parametrize("stream", [False, True])
def test_if_the_client_goes_the_answer_is_cancelled(
    filings: str, openai_server: OpenAIServer, guarded: tuple[str, str, str], mill: Querymill, stream: bool
) -> None:
    begun, released = threading.Event(), threading.Event()

    def gate(sent: int) -> None:
        if sent == 2:
            begun.set()
            released.wait(PATIENCE_S)

    openai_server.script.chat = saying("Revenue ", "rose ", "to forty million [1].", gate=gate)
    headers = {"Authorization": f"Bearer {guarded[1]}"}
    asked = {"model": "filings", "messages": QUESTION, "stream": stream, "expand": False}

    async def leave() -> None:
        async with httpx.AsyncClient(base_url=guarded[0], headers=headers, timeout=PATIENCE_S) as http:
            asking = asyncio.create_task(http.post("/v1/chat/completions", json=asked))
            await asyncio.to_thread(begun.wait, PATIENCE_S)
            asking.cancel()

    try:
        asyncio.run(leave())
        until(lambda: mill.recent(limit=1)[0].picture().record.state == "cancelled", within_s=PATIENCE_S)
    finally:
        released.set()


def test_a_key_without_the_scope_may_not_ask(deployment: Deployment, guarded: tuple[str, str, str]) -> None:
    with httpx.Client(base_url=guarded[0]) as http, closing(Keyring.connect(deployment.settings)) as keyring:
        key = bearer(keyring, "filings", scopes=(Scope.INGEST,))
        answer = http.get("/v1/models", headers=key)
    assert (answer.status_code, answer.json()["error"]["message"]) == (403, "needs scope search")
