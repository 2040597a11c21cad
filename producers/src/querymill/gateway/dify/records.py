"""The records of a reply: hits of any kind with a score from 0 to 1 in the order of their ranks. Pure."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from querymill.agents.found import FoundHit
from querymill.agents.stored_text import clean, clean_line
from querymill.gateway.dify.shape import RetrievalRecord
from querymill.presenting.fields import fields_of


def relevances_of(hits: Sequence[Any]) -> list[float]:
    """Return how relevant hits are, best first, from 0 to 1, none more than the one before it.

    It is the relevance if a model judged it, else the similarity of vectors, else the share of the best hit's score.
    Dify orders records by score, and ranks come from words too: a hit is worth as much as the best one below it.
    Similarities 0.5, 0.8, 0.4 give 0.8, 0.8, 0.4.
    """
    best = max((hit.score for hit in hits), default=0.0)
    raw = [_relevance(hit, best) for hit in hits]
    return list(accumulate(reversed(raw), max))[::-1]


def _relevance(hit: Any, best: float) -> float:
    judged = getattr(hit, "relevance", None)
    known = getattr(hit, "similarity", None) if judged is None else judged
    relevance = (hit.score / best if best > 0 else 0.0) if known is None else known
    return min(max(float(relevance), 0.0), 1.0)


def record_of(found: FoundHit, hit: Any, relevance: float, link: str) -> RetrievalRecord:
    """Return the record of a hit with its text."""
    stored: Mapping[str, Any] = getattr(hit, "metadata", None) or {}
    place = found.place
    named = {"id": str(place), "kind": place.kind, "collection": place.collection, "document": place.document}
    return RetrievalRecord(
        content=clean(found.text),
        score=round(relevance, 6),
        title=clean_line(found.title),
        metadata={**stored, **fields_of(hit), **named, "link": link},
    )
