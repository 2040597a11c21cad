"""Models in this process that need neither a network nor a key. Their output depends only on the words of a text.

They replace a provider in unit tests, both of this project and of its users. Equal texts get equal output.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from querymill_workers.inference.answer_ports import AnswerEnd, Answers, AnswerScores, Hear
from querymill_workers.inference.ports import Embeddings, InputType, Judge, Rewriter, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.languages import Language
from querymill_workers.text.tokens import estimate
from querymill_workers.text.words import words

#: Length of a vector.
DIMENSIONS: Final = 384


@lru_cache(maxsize=50_000)
def _direction(word: str) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)


def vector_of(text: str) -> npt.NDArray[np.float32]:
    """Return the sum of a text's word vectors, of length 1. Texts that share more words have a higher cosine."""
    total = np.sum([_direction(word) for word in words(text) or ["(none)"]], axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


class WordEmbeddings(Embeddings):
    """`Embeddings` by `vector_of`."""

    model: Final = "words"
    dimensions: Final = DIMENSIONS
    max_text_tokens: Final = 8_191

    @override
    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        rows = [vector_of(text) for text in texts]
        spent = ProviderUsage(1, sum(map(estimate, texts)))
        return np.stack(rows) if rows else np.empty((0, DIMENSIONS), np.float32), spent

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:  # noqa: ARG002
        """See `Embeddings.cached`: nothing is."""
        return None


class WordRewriter(Rewriter):
    """`Rewriter` that repeats the question: in a table for ``hyde``, next to the method's name for the others."""

    @override
    def rewrite(
        self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller
    ) -> tuple[str, ProviderUsage]:
        reply = f"| question |\n|---|\n| {question} |" if method == "hyde" else f"<{question} ({method})>"
        return reply, ProviderUsage(1, estimate(question) + estimate(reply))

    @override
    def write_standalone(self, question: str, said: Sequence[SaidTurn], *, caller: Caller) -> tuple[str, ProviderUsage]:
        reply = f"<{' '.join([*(turn.text for turn in said if turn.role == 'user'), question])}>"
        return reply, ProviderUsage(1, estimate(question) + estimate(reply))


class WordJudge(Judge):
    """`Judge` by the share of the query's words that a passage has."""

    @override
    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        wanted = set(words(query))
        judged = {key: len(wanted & set(words(text))) / max(len(wanted), 1) for key, text in passages.items()}
        return judged, ProviderUsage(1, estimate(query) + sum(map(estimate, passages.values())))


class WordAnswers(Answers):
    """`Answers` that quotes the first passage and judges every answer as good."""

    passage_tokens: Final = 4_000
    writes: Final = True

    @override
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
        reply = f"{passages[0]} [1]"
        hear(reply)
        written = estimate(reply)
        return AnswerEnd(is_whole=True, usage=ProviderUsage(1, estimate(question) + written), completion_tokens=written)

    @override
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
        return AnswerScores(grounded=1.0, relevant=1.0, complete=1.0, unsupported=()), ProviderUsage(
            1, estimate(question)
        )
