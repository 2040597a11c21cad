"""What a chat model is asked with is the key of the fleet's cache: a release must not change it by accident."""

import hashlib
import json

import openai
import pytest
from pydantic import BaseModel

from querymill_workers.inference.answers import AnswerScoresReply
from querymill_workers.inference.chat import OpenAIChat
from querymill_workers.inference.chat_judge import Judgements
from querymill_workers.inference.parameters import REASONS, adapted


def options(shape: type[BaseModel] | None, model: str = "m", tokens: int = 100) -> dict[str, object]:
    return OpenAIChat(openai.OpenAI(api_key="none"), model).options(tokens, shape)


@pytest.mark.parametrize(
    ("shape", "digest"), [(AnswerScoresReply, "1e0eb7403bd59efa"), (Judgements, "7f92a60f83fc3132")]
)
def test_the_shapes_that_a_model_is_asked_for_do_not_change(shape: type[BaseModel], digest: str) -> None:
    asked = json.dumps(options(shape), sort_keys=True)
    assert hashlib.sha256(asked.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("model", ["gpt-5-mini", "o1", "qwen3", "deepseek-reasoner"])
def test_a_models_name_says_nothing_of_it(model: str) -> None:
    assert options(None, model) == options(None) | {"model": model}


def test_a_model_that_reasons_gets_room_for_it_and_that_is_no_part_of_the_key() -> None:
    chat = OpenAIChat(openai.OpenAI(api_key="none"), "m")
    before = chat.options(100, None)
    chat.parameters.capabilities.learn([REASONS])
    assert chat.options(100, None) == before
    assert chat.max_tokens(before) == 2_100
    sent = adapted(before, chat.parameters.capabilities.known())
    assert (sent["max_completion_tokens"], sent["reasoning_effort"]) == (2_100, "low")


def test_other_models_reply_the_same_every_time() -> None:
    chosen = options(None, "gpt-4o")
    assert chosen["temperature"] == 0.0
    assert chosen["max_completion_tokens"] == 100
    assert "response_format" not in chosen
