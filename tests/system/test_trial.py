"""What the workers' trial says of a model: nothing is fit whose replies they could not use."""

from typing import Any

import pytest

from querymill_shared.settings import Settings
from querymill_workers import wiring
from querymill_workers.inference.profiles import EmbeddingProfile
from querymill_workers.trial import result_of, try_chat, try_embeddings
from tests.fakes.answers import judgement
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream, embedding_answer, refusing
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.deployment import Deployment
from tests.fixtures.short_forms import named_at_night


def said(request: dict[str, object]) -> Answer:
    return chat_stream("Oh", " kay") if request.get("stream") else chat_answer(judgement())


def of_chat(settings: Settings) -> dict[str, object]:
    return dict(result_of("chat models", lambda: try_chat(settings)))


def of_embeddings(settings: Settings) -> dict[str, object]:
    profile = wiring.embedding_profile(settings)
    return dict(result_of("embedding models", lambda: try_embeddings(settings, profile, *settings.embedding_endpoint)))


@pytest.fixture
def settings(deployment: Deployment, openai_server: OpenAIServer) -> Settings:
    openai_server.script.chat = said
    return deployment.settings


def test_what_came_back_is_said(settings: Settings) -> None:
    assert of_chat(settings) == {"name": "chat models", "ok": True, "said": 'says "Oh kay" and judges'}
    assert str(of_embeddings(settings)["said"]).startswith(f"vectors of {DIMENSIONS} dimensions")


def test_what_a_model_refuses_and_can_do_without_is_said(settings: Settings, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = refusing(["frequency_penalty", "json_schema"], said, form="pydantic")
    told = of_chat(settings)
    assert told["ok"]
    assert str(told["said"]).endswith("(without frequency_penalty, response_format json_schema, which it refuses)")


@pytest.mark.parametrize("hears", [True, False])
def test_a_server_that_embeds_questions_as_passages_is_told(
    settings: Settings, openai_server: OpenAIServer, *, hears: bool
) -> None:
    def embed(request: dict[str, Any]) -> Answer:
        kind = request["input_type"] if hears else ""
        return embedding_answer([vector_of(f"{kind} {text}").tolist() for text in request["input"]])

    openai_server.script.embeddings = embed
    profile = EmbeddingProfile("words", DIMENSIONS, asymmetric=True)
    assert (
        "embeds questions and passages alike" in try_embeddings(settings, profile, *settings.embedding_endpoint)
    ) != hears


def test_a_model_that_writes_but_cannot_judge_is_not_called_fit(
    settings: Settings, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda body: chat_answer("Okay.")
    told = of_chat(settings)
    assert told["ok"] is None
    assert told["said"] == 'says "Okay.", but cannot judge: chat model: two replies without the requested structure'


UNFIT: dict[str, tuple[Answer, str, str, bool]] = {
    "a page": (Answer(b"<!doctype html>"), "an HTML page instead of JSON", "an HTML page instead of JSON", True),
    "another status": (
        Answer(b'{"error": {"message": "no such model"}}', status=404),
        "HTTP 404: no such model; does this model exist there?",
        "HTTP 404: no such model; does this model exist there?",
        True,
    ),
    "another path": (
        Answer(b'{"message": "404 page not found"}', status=404),
        "404 page not found; the page Providers of the documentation has the addresses",
        "HTTP 404 (nothing serves this path",
        False,
    ),
    "no money left": (
        Answer(b'{"error": {"message": "your credits are depleted"}}', status=403),
        "HTTP 403, no quota left: your credits are depleted; top up the account at the provider",
        "top up the account at the provider, or raise the limit of the key",
        True,
    ),
    "a wrong key": (Answer(b"{}", status=401), "HTTP 401; is the key right?", "HTTP 401; is the key right?", False),
    "a redirect": (Answer(b"", status=307), "HTTP 307 (redirects", "HTTP 307 (redirects", False),
    "a refusal": (
        Answer(b'{"error": {"message": "unknown tools"}}', status=422),
        "HTTP 422: unknown tools",
        "HTTP 422: unknown tools",
        True,
    ),
    "a limit": (Answer(b"{}", status=429), "HTTP 429", "HTTP 429", True),
    "another dimension": (
        embedding_answer([[1.0, 2.0], [1.0, 2.0]]),
        "the stream ended without a word",
        f"returned 2 dimensions, expected {DIMENSIONS}; set QUERYMILL_EMBEDDING_DIMENSIONS",
        True,
    ),
    "an error with HTTP 200": (
        Answer(b'{"error": {"message": "away", "code": 502}}'), "HTTP 502", "HTTP 502", True,
    ),
    "nothing": (Answer(b""), "unreadable response", "unreadable response", True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "chat", "embeddings", "reached"), named_at_night(UNFIT, short=["a page", "no money left", "a wrong key"])
)
def test_a_model_whose_replies_are_of_no_use_is_not_fit(
    settings: Settings, openai_server: OpenAIServer, answer: Answer, chat: str, embeddings: str, *, reached: bool
) -> None:
    openai_server.script.chat = openai_server.script.embeddings = lambda _: answer
    for told, wrong in ((of_chat(settings), chat), (of_embeddings(settings), embeddings)):
        assert wrong in str(told["said"])
        assert (told["ok"], told["reached"]) == (False, reached)
