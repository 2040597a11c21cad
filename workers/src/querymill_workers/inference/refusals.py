"""Embed texts of which a provider may refuse some: the others get their vectors."""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_shared.values import frozen
from querymill_workers.inference.ports import Embeddings, InputType
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import Usage

#: The longest reason, in characters.
MAX_REASON_CHARS: Final = 300
#: A reason that has so many characters in a row from the text quotes it.
QUOTED_CHARS: Final = 12


@frozen
class Refusal:
    """Why a provider refused a text. ``reason`` holds nothing of the text."""

    reason: str


Embedded = npt.NDArray[np.float32] | Refusal


def embed_each(
    texts: Sequence[str], model: Embeddings, *, input_type: InputType, caller: Caller
) -> tuple[list[Embedded], Usage]:
    """Return the vector of each text, or why the provider refuses it.

    A refused batch is halved until the refused texts are known. Texts that were accepted before come from the cache.

    Raises:
        Unavailable: The provider is unreachable or slow.
        Refused: No text is at fault: the provider refuses even a harmless one, returns vectors of another model, or
            allows no call before the caller's deadline.
    """
    found, usage = _halve(texts, model, input_type, caller)
    if found and all(isinstance(result, Refusal) for result in found):
        # Not the text of an earlier probe, whose vector may be cached: the provider is asked now.
        probe = f"probe {hashlib.sha256(chr(0).join(texts).encode('utf-8', 'replace')).hexdigest()[:8]}"
        _, spent = model.embed([probe], input_type=input_type, caller=caller)
        usage += spent
    return found, usage


def _halve(
    texts: Sequence[str], model: Embeddings, input_type: InputType, caller: Caller
) -> tuple[list[Embedded], Usage]:  # fmt: skip
    try:
        vectors, usage = model.embed(texts, input_type=input_type, caller=caller)
        return list(vectors), usage
    except Unacceptable as error:
        if len(texts) == 1:
            return [Refusal(reason_of(error, texts[0]))], Usage()
    middle = len(texts) // 2
    first, spent_first = _halve(texts[:middle], model, input_type, caller)
    second, spent_second = _halve(texts[middle:], model, input_type, caller)
    return first + second, spent_first + spent_second


def reason_of(error: Unacceptable, text: str) -> str:
    """Return the reason of a refusal with the provider's words, unless they quote the text."""
    words = " ".join(error.words.split())
    if not words or quotes(words, text):
        return str(error)[:MAX_REASON_CHARS]
    return f"{error}: {words}"[:MAX_REASON_CHARS]


def quotes(words: str, text: str) -> bool:
    """Return whether words hold a short text, or `QUOTED_CHARS` characters in a row of a longer one, in any case."""
    said, source = words.casefold(), " ".join(text.split()).casefold()
    if len(source) < QUOTED_CHARS:
        return bool(source) and source in said
    return any(said[at : at + QUOTED_CHARS] in source for at in range(len(said) - QUOTED_CHARS + 1))
