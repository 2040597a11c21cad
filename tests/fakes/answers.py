"""Answers that a test dictates, in memory; and a prompt of answers read back as a model would read it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from querymill_workers.inference.answer_ports import AnswerEnd, AnswerScores, Hear
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.languages import Language

_FENCED = re.compile(
    r"^<<(?P<fence>[0-9a-f]+) (?P<name>(?:earlier )?[a-z]+)(?: \d+)?>>\n(?P<text>.*?)\n<<(?P=fence) end>>$", re.M | re.S
)


class ScriptedAnswers:
    """Writes the parts of `reply`, whose exceptions are raised where they stand; judges as told."""

    def __init__(self) -> None:
        self.reply: Callable[[], Sequence[str | Exception]] = lambda: ["It is so [1]."]
        self.is_whole = True
        self.fault = ""
        self.passage_tokens = 4_000
        self.writes = True
        self.judgement: AnswerScores | Exception = AnswerScores(0.9, 0.8, 0.7, ())
        self.asked: list[tuple[str, list[str], Language, int, Caller]] = []
        self.said: list[list[SaidTurn]] = []
        self.judged: list[tuple[list[str], list[str], Language]] = []
        self.parts_heard = 0

    def write(
        self,
        question: str,
        passages: Sequence[str],
        *,
        language: Language,
        max_tokens: int,
        caller: Caller,
        hear: Hear,
        said: Sequence[SaidTurn] = (),
    ) -> AnswerEnd:
        self.said.append(list(said))
        self.asked.append((question, list(passages), language, max_tokens, caller))
        for part in self.reply():
            if isinstance(part, Exception):
                raise part
            self.parts_heard += 1
            if not hear(part):
                break
        return AnswerEnd(self.is_whole, ProviderUsage(1, 20), fault=self.fault)

    def judge(
        self,
        question: str,
        passages: Sequence[str],
        sentences: Sequence[str],
        *,
        language: Language,
        caller: Caller,
        said: Sequence[SaidTurn] = (),
    ) -> tuple[AnswerScores, ProviderUsage]:
        self.judged.append((list(passages), list(sentences), language))
        if isinstance(self.judgement, Exception):
            raise self.judgement
        return self.judgement, ProviderUsage(1, 10)


class NoAnswers(ScriptedAnswers):
    """A chat model that is away."""

    def write(
        self,
        question: str,
        passages: Sequence[str],
        *,
        language: Language,
        max_tokens: int,
        caller: Caller,
        hear: Hear,
        said: Sequence[SaidTurn] = (),
    ) -> AnswerEnd:
        raise Unavailable("chat model: no answer in time")


def is_judging(request: Mapping[str, Any]) -> bool:
    """Whether a chat request asks for a judgement of an answer."""
    return "sentence 1>>" in request["messages"][-1]["content"]


def fenced_texts(request: Mapping[str, Any], name: str) -> list[str]:
    """Read what a chat request shows of a sort: "question", "passage" or "sentence"."""
    asked: str = request["messages"][-1]["content"]
    return [found["text"] for found in _FENCED.finditer(asked) if found["name"] == name]


def judgement(grounded: object = 0.9, relevant: object = 0.8, complete: object = 0.7, *unsupported: object) -> str:
    """Write the reply that the judge's prompt asks for."""
    return json.dumps(
        {"grounded": grounded, "relevant": relevant, "complete": complete, "unsupported": list(unsupported)}
    )
