"""The weighted parts of a request: as they were given, or as a chat model splits it."""

import re
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.modules.search import SPLIT, WEIGHT, ModuleSearch
from querymill_shared.values import value
from querymill_workers.jobs.deadline import caller_of
from querymill_workers.jobs.faults import CallFailed
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.text.queries import wrapped

#: Time before the deadline that is reserved for searching after the chat call, in seconds.
SEARCH_MARGIN_S: Final = 0.2
#: At most this many parts are read from one reply.
MAX_PARTS: Final = 8
#: The weight of a part without a number, and the largest weight of a part.
PART_WEIGHT, MAX_WEIGHT = 5.0, 10.0
_WEIGHTED: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3})?) ?[:|：] ?(\S.*)", re.ASCII)


@value
class RequestParts:
    """Texts with their weights, and what finding them used."""

    weighted: list[tuple[str, float]]
    usage: ProviderUsage


def find_parts(claim: Claim, request: ModuleSearch, ports: ModulePorts) -> RequestParts:
    """Return the weighted parts to search.

    The split branch asks a chat model for them. The other branch takes the request's sub-queries, or the request
    as its only part.

    Raises:
        Unavailable: The chat model did not reply in time.
        Failed: Its reply held no parts.
    """
    if claim.step != SPLIT:
        given = [(part.description, part.weight) for part in request.sub_queries]
        return RequestParts(given or [(request.query, WEIGHT), *turns_before(request)], ProviderUsage())
    caller = caller_of(claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model")
    question = context_of(request).meaning
    reply, usage = ports.rewriter.rewrite("parts", question, terms={}, caller=caller)
    parts = weighted_parts(reply)
    if not parts:
        raise CallFailed("the chat model's reply held no parts")
    return RequestParts(parts, usage)


def turns_before(request: ModuleSearch) -> list[tuple[str, float]]:
    """Return the turns that a request leans on as parts of it, by the weight of their words."""
    added = context_of(request).added
    return [(turn.text, WEIGHT * turn.weight) for turn in added if turn.is_needed]


def weighted_parts(reply: str) -> list[tuple[str, float]]:
    """Return the parts of a reply such as ``<8: a cone> <3: orientation axes>`` with their weights.

    A weight is at most 10, and 5 if the part has no number. The list is empty if the reply holds no parts.
    """
    parts = []
    for part in wrapped(reply, limit=MAX_PARTS):
        weighted = _WEIGHTED.fullmatch(part)
        if weighted is None:
            parts.append((part, PART_WEIGHT))
        else:
            parts.append((weighted[2], min(float(weighted[1]), MAX_WEIGHT)))
    return parts
