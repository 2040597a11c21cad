"""Read what rerank endpoints reply, whatever its shape and its scale.

The shapes of Cohere, Jina, Voyage, Text Embeddings Inference and those who follow them differ in the name of the list
and of the score. Some models give a probability, others the logit of one: a number of any size, of which only the
sigmoid is a probability.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from querymill_shared.values import value
from querymill_workers.inference.client import NoResponse, tokens_of
from querymill_workers.inference.replies import error_instead, whole_in
from querymill_workers.inference.work import Misfit

#: The names of the list, and of the score of an entry, in the order in which they are looked for.
_LISTS: Final = ("results", "data", "rankings", "scores", "output")
_SCORES: Final = ("relevance_score", "score", "relevance", "logit", "similarity")
#: A sigmoid tells numbers apart up to here.
MAX_LOGIT: Final = 36.0

#: What the numbers of a model are: probabilities, their logits, or percentages.
Scale = Literal["probability", "logit", "percent"]
#: Relevance of each passage, by its index in the request.
RelevanceByIndex = dict[int, float]


@value
class Entry:
    """What an endpoint says of one passage. ``index`` is its index in the request."""

    index: int
    score: float


@value
class Ranking:
    """A response: its entries, and the tokens that the endpoint says it read, or None if it does not say."""

    entries: tuple[Entry, ...]
    tokens: int | None


def read_ranking(content: bytes) -> Ranking:
    """Return the entries of a response, in their order.

    Raises:
        NoResponse: The response holds no list of scores, or a score is no finite number.
        Limited, Rejected: It is a provider's error that says so.
    """
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise error_instead(content) or NoResponse("the response holds no list of relevances") from error
    listed = _list_in(reply)
    if listed is None:
        raise error_instead(content) or NoResponse("the response holds no list of relevances")
    return Ranking(tuple(_entries(listed)), _tokens(reply) if isinstance(reply, Mapping) else None)


def _list_in(reply: Any) -> Sequence[Any] | None:
    if isinstance(reply, list):
        is_error = len(reply) == 1 and isinstance(reply[0], Mapping) and "error" in reply[0]
        return None if is_error else reply
    if not isinstance(reply, Mapping):
        return None
    for name in _LISTS:
        listed = reply.get(name)
        if isinstance(listed, Mapping):  # as DashScope wraps it
            listed = listed.get("results")
        if isinstance(listed, list):
            return listed
    return None


def _entries(listed: Sequence[Any]) -> list[Entry]:
    """Read entries. Bare numbers come in the order of the passages, and entries in that of their relevance.

    So the position does not stand for an index that is missing. But some servers leave out numbers that are 0.
    """
    if listed and not any(isinstance(entry, Mapping) for entry in listed):
        return [Entry(position, _number(score)) for position, score in enumerate(listed)]
    entries = []
    for entry in listed:
        if not isinstance(entry, Mapping):
            raise NoResponse("the response mixes numbers and entries")
        index = whole_in(entry.get("index", 0) if entry.get("index") is not None else 0)
        if index is None:
            raise NoResponse("an index in the response is no whole number")
        entries.append(Entry(index, _number(next((entry[name] for name in _SCORES if name in entry), None))))
    return entries


def _number(score: object) -> float:
    try:
        number = float(score) if isinstance(score, int | float | str) and not isinstance(score, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise NoResponse("a relevance in the response is no finite number")
    return number


def _tokens(reply: Mapping[str, Any]) -> int | None:
    meta = reply.get("meta")
    return tokens_of(reply) or (
        tokens_of({"usage": meta.get("tokens")}, "input_tokens") if isinstance(meta, Mapping) else None
    )


def scale_of(scores: Sequence[float], known: Scale = "probability") -> Scale:
    """Return what the numbers of a response are, given what those of earlier ones were.

    Raises:
        Misfit: They are on no scale that is known.
    """
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    if known == "percent" or (known == "probability" and least >= 0 and MAX_LOGIT < most <= 100):
        found: Scale = "percent"
    elif known == "probability" and least >= 0 and most <= 1:
        found = "probability"
    else:
        found = "logit"
    bounds = {"probability": (0.0, 1.0), "percent": (0.0, 100.0), "logit": (-math.inf, MAX_LOGIT)}[found]
    if not bounds[0] <= least <= most <= bounds[1]:
        wrong = least if least < bounds[0] else most
        raise Misfit(f"rerank endpoint: relevance {wrong:g} in the response (expected 0 to 1, a logit, or 0 to 100)")
    return found


def probability(score: float, scale: Scale) -> float:
    """Return a score as a relevance from 0 to 1."""
    match scale:
        case "probability":
            return score
        case "percent":
            return score / 100
        case "logit":
            return 1 / (1 + math.exp(-score)) if score >= 0 else (small := math.exp(max(score, -700))) / (1 + small)


def relevance_by_index(entries: Sequence[Entry], *, count: int, scale: Scale = "probability") -> RelevanceByIndex:
    """Return the relevance by index. A passage that the endpoint left out is missing.

    Raises:
        Misfit: An index is out of range or repeated.
    """
    relevances: RelevanceByIndex = {}
    for entry in entries:
        if not 0 <= entry.index < count or entry.index in relevances:
            raise Misfit(
                f"rerank endpoint: invalid or repeated index {entry.index} in the response"
                f" (expected 0 to {count - 1}, once each)"
            )
        relevances[entry.index] = probability(entry.score, scale)
    return relevances
