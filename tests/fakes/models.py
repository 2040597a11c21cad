"""Models that say what a test tells them to."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from querymill_workers.inference.ports import InputType, Judge, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.in_context import SaidTurn
from tests.fakes.vectors import DIMENSIONS, vector_of


class WordEmbeddings:
    """Embeds by words; raises what it is told to."""

    def __init__(self, model: str = "words") -> None:
        self.model = model
        self.dimensions = DIMENSIONS
        self.max_text_tokens = 8_191
        self.asked: list[tuple[str, InputType]] = []
        self.fails_with: Exception | None = None
        self.known: set[str] = set()

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        return np.stack([vector_of(text) for text in texts]) if self.known.issuperset(texts) else None

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        if self.fails_with is not None:
            raise self.fails_with
        self.asked += [(text, input_type) for text in texts]
        rows = [vector_of(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, DIMENSIONS), np.float32), ProviderUsage(1, len(texts))


class ScriptedJudge(Judge):
    """Says of each passage what a test's rule says; raises what it is told to."""

    def __init__(self) -> None:
        self.rule: Callable[[str], float | None] = lambda text: 0.5
        self.also: Mapping[str, float] = {}
        self.asked: list[tuple[list[str], Caller]] = []
        self.fails_with: Exception | None = None
        self.is_chosen = True

    @property
    def is_configured(self) -> bool:
        return self.is_chosen

    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        self.asked.append((list(passages), caller))
        if self.fails_with is not None:
            raise self.fails_with
        judged = {hit_id: self.rule(text) for hit_id, text in passages.items()}
        said = {hit_id: relevance for hit_id, relevance in judged.items() if relevance is not None}
        return said | dict(self.also), ProviderUsage(1, len(passages))


class ScriptedRewriter:
    """Replies per method; a method without a reply is unavailable."""

    def __init__(self, replies: Mapping[str, str | Callable[[str], str]]) -> None:
        self.replies = dict(replies)
        self.asked: list[tuple[str, Mapping[str, str], Caller]] = []
        self.said: list[list[str]] = []

    def rewrite(
        self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller
    ) -> tuple[str, ProviderUsage]:
        self.asked.append((method, terms, caller))
        if method not in self.replies:
            raise Unavailable("chat model: no answer in time")
        reply = self.replies[method]
        return (reply if isinstance(reply, str) else reply(question)), ProviderUsage(1, 10)

    def write_standalone(self, question: str, said: Sequence[SaidTurn], *, caller: Caller) -> tuple[str, ProviderUsage]:
        self.said.append([turn.text for turn in said])
        return self.rewrite("standalone", question, terms={}, caller=caller)
