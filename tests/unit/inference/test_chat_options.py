"""What a chat model is asked with is the key of the fleet's cache: a release must not change it by accident."""

import hashlib
import json

import openai
import pytest
from pydantic import BaseModel

from querymill_workers.inference.answers import AnswerScoresReply
from querymill_workers.inference.chat import OpenAIChat
from querymill_workers.inference.chat_judge import Judgements


def options(shape: type[BaseModel] | None, model: str = "m", tokens: int = 100) -> dict[str, object]:
    return OpenAIChat(openai.OpenAI(api_key="none"), model).options(tokens, shape)


@pytest.mark.parametrize(
    ("shape", "digest"), [(AnswerScoresReply, "1e0eb7403bd59efa"), (Judgements, "7f92a60f83fc3132")]
)
def test_the_shapes_that_a_model_is_asked_for_do_not_change(shape: type[BaseModel], digest: str) -> None:
    asked = json.dumps(options(shape), sort_keys=True)
    assert hashlib.sha256(asked.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("model", ["gpt-5-mini", "o1", "o3-pro", "o4-mini"])
def test_a_reasoning_model_gets_room_to_think_and_no_sampling(model: str) -> None:
    chosen = options(None, model)
    assert chosen == {"model": model, "max_completion_tokens": 2_100, "reasoning_effort": "low"}


def test_other_models_reply_the_same_every_time() -> None:
    chosen = options(None, "gpt-4o")
    assert chosen["temperature"] == 0.0
    assert chosen["max_completion_tokens"] == 100
    assert "response_format" not in chosen
