"""Texts of which a provider may refuse some: the others get their vectors, or are judged."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from querymill_shared.values import value
from querymill_workers.inference.complaints import hide_quotes
from querymill_workers.inference.ports import Embeddings, InputType, Judge
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage

#: A passage that no model and no filter objects to.
HARMLESS: Final = "hello"
#: The longest reason, in characters.
MAX_REASON_CHARS: Final = 300


@value
class TextRefusal:
    """Why a provider refused a text. ``reason`` holds nothing of the text."""

    reason: str


Embedded = npt.NDArray[np.float32] | TextRefusal


def embed_each(
    texts: Sequence[str], model: Embeddings, *, input_type: InputType, caller: Caller
) -> tuple[list[Embedded], ProviderUsage]:
    """Return the vector of each text, or why the provider refuses it.

    A model that refuses texts names them, or they are found by halving.

    Raises:
        Unavailable: The provider is unreachable or slow.
        Refused: No text is at fault: the provider refuses even a harmless one, returns vectors of another model, or
            allows no call before the caller's deadline.
    """
    found, usage = _embed(texts, model, input_type, caller)
    if found and all(isinstance(result, TextRefusal) for result in found):
        # Not the text of an earlier probe, whose vector may be cached: the provider is asked now.
        probe = f"probe {hashlib.sha256(chr(0).join(texts).encode('utf-8', 'replace')).hexdigest()[:8]}"
        _, spent = model.embed([probe], input_type=input_type, caller=caller)
        usage += spent
    return found, usage


def _embed(
    texts: Sequence[str], model: Embeddings, input_type: InputType, caller: Caller
) -> tuple[list[Embedded], ProviderUsage]:  # fmt: skip
    if not texts:
        return [], ProviderUsage()
    try:
        vectors, usage = model.embed(texts, input_type=input_type, caller=caller)
        return list(vectors), usage
    except Unacceptable as error:
        refused = error.refused
        if not refused and len(texts) == 1:
            refused = {0: error}
    if not refused:
        middle = len(texts) // 2
        first, spent = _embed(texts[:middle], model, input_type, caller)
        second, more = _embed(texts[middle:], model, input_type, caller)
        return first + second, spent + more
    # The vectors of the others are in the cache, unless another worker was asking for them.
    others = [index for index in range(len(texts)) if index not in refused]
    found, usage = _embed([texts[index] for index in others], model, input_type, caller)
    results: dict[int, Embedded] = dict(zip(others, found, strict=True))
    results |= {index: TextRefusal(reason_of(error, texts[index])) for index, error in refused.items()}
    return [results[index] for index in range(len(texts))], usage


class HalvingJudge(Judge):
    """`Judge` by another one, whose model may refuse a passage: the others are judged."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @property
    @override
    def is_configured(self) -> bool:
        return self._judge.is_configured

    @property
    @override
    def relevance_formula(self) -> str:
        return self._judge.relevance_formula

    @override
    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        try:
            return self._judge.judge(query, passages, caller=caller)
        except Unacceptable:
            if len(passages) == 1:
                raise
        # A question that the model refuses is refused beside any passage.
        _, usage = self._judge.judge(query, {"": HARMLESS}, caller=caller)
        judged: dict[str, float] = {}
        spent = self._halve(query, list(passages.items()), judged, caller)
        return judged, usage + spent

    def _halve(
        self, query: str, passages: Sequence[tuple[str, str]], judged: dict[str, float], caller: Caller
    ) -> ProviderUsage:
        """Judge the halves of refused passages. When the provider fails or the time is up, the rest is left out."""
        usage = ProviderUsage()
        for half in (passages[: len(passages) // 2], passages[len(passages) // 2 :]):
            try:
                found, spent = self._judge.judge(query, dict(half), caller=caller)
            except Unacceptable:
                usage += self._halve(query, half, judged, caller) if len(half) > 1 else ProviderUsage()
            except (Unavailable, Refused):
                if not judged:
                    raise
                return usage
            else:
                judged.update(found)
                usage += spent
        return usage


def reason_of(error: Unacceptable, text: str) -> str:
    """Return the reason of a refusal with the provider's words, unless they quote the text."""
    words = " ".join(error.words.split())
    if not words or hide_quotes(words, [text]) != words:
        return str(error)[:MAX_REASON_CHARS]
    return f"{error}: {words}"[:MAX_REASON_CHARS]
