"""A judge's prompt read back as a model would read it, and replies to it."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.openai_server import Answer, chat_answer

_FENCED = re.compile(r"^<<(?P<fence>[0-9a-f]+) passage (?P<id>\d+)>>\n(?P<text>.*?)\n<<(?P=fence) end>>$", re.M | re.S)


def passages_of(request: Mapping[str, Any]) -> dict[int, str]:
    """Read the passages that a chat request asks to judge, by their numbers."""
    asked: str = request["messages"][-1]["content"]
    return {int(found["id"]): found["text"] for found in _FENCED.finditer(asked)}


def judgements(relevance_of: Mapping[Any, Any]) -> str:
    """Write the reply that is asked for."""
    return json.dumps({"judgements": [{"id": i, "relevance": relevance} for i, relevance in relevance_of.items()]})


def judging(rule: Callable[[str], float], *, after_s: float = 0.0) -> Callable[[dict[str, Any]], Answer]:
    """Script a model that judges every passage by its text."""

    def answer(request: dict[str, Any]) -> Answer:
        relevance_of = {number: rule(text) for number, text in passages_of(request).items()}
        return chat_answer(judgements(relevance_of), after_s=after_s)

    return answer
