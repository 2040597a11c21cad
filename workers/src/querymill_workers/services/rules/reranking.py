"""Reranking: combine a judge's relevance with the retriever's similarity into one order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from querymill_shared.values import value
from querymill_workers.text.judgements import accepted

Combine = Literal["product", "weighted", "relevance"]

RELEVANCE_WEIGHT: Final = 0.7
SIMILARITY_WEIGHT: Final = 0.3


@value
class GivenHit:
    """A hit before the rerank: its id, and its finite similarity to the query."""

    id: str
    similarity: float


@value
class Reranked:
    """A hit after the rerank. ``relevance`` is None if it was not judged; ``rank`` is its place before, from 1."""

    id: str
    score: float
    similarity: float
    relevance: float | None
    rank: int


def rerank(
    candidates: Sequence[GivenHit], judgements: Iterable[tuple[str, float]], *, combine: Combine = "product"
) -> list[Reranked]:
    """Order hits by combined score, best first. Of equal ones, the first so far is the first.

    Hits without a judgement follow in the given order, whatever their similarity. Without any judgement the order
    is the caller's. For which judgements count, see `accepted`.

    Args:
        candidates: The hits in their order so far, each id once.
        judgements: Pairs of id and relevance, in the order in which they were made.
        combine: See `combined_score`.
    """
    relevance_of = accepted(judgements, known={candidate.id for candidate in candidates})
    hits = [
        _reranked(candidate, rank, relevance_of, combine=combine) for rank, candidate in enumerate(candidates, start=1)
    ]
    judged = [hit for hit in hits if hit.relevance is not None]
    judged.sort(key=lambda hit: (-hit.score, hit.rank))
    return judged + [hit for hit in hits if hit.relevance is None]


def combined_score(*, relevance: float, similarity: float, combine: Combine = "product") -> float:
    """Combine a relevance in [0, 1] with a similarity, neither rounded.

    ``product``: relevance × similarity; 0.9 and 0.8 give 0.72. ``weighted``: 0.7 × relevance + 0.3 ×
    similarity; 0.9 and 0.8 give 0.87. ``relevance``: the relevance alone, for scores that are no similarities, such as
    those of a fusion by rank, whose differences say nothing of how much better a hit is.

    Decided: with a negative similarity the product would put irrelevant hits first (0 × −0.5 is more than 1 × −0.5), so
    a negative similarity is multiplied by 2 − relevance. In both cases irrelevance costs (1 − relevance) ×
    |similarity|: more relevance never lowers a score. The product never exceeds the similarity, which limits what a
    passage gains if it persuades its judge of 1.0.
    """
    if combine == "relevance":
        return relevance
    if combine == "weighted":
        return RELEVANCE_WEIGHT * relevance + SIMILARITY_WEIGHT * similarity
    return (relevance if similarity >= 0 else 2 - relevance) * similarity


def explain(hit: Reranked, *, combine: Combine = "product", relevance_formula: str = "") -> dict[str, object]:
    """Explain a score: the formula in words, every number in it, and the rank before.

    ``relevance_formula`` is how the relevance follows from what the judge said, if it is not that itself.
    """
    before = "score_before" if combine == "relevance" else "similarity"
    numbers: dict[str, object] = {before: hit.similarity, "score": hit.score, "rank": hit.rank}
    if hit.relevance is None:
        return {"formula": before, "reason": "not judged: kept in its order below the judged hits"} | numbers
    numbers["relevance"] = hit.relevance
    if relevance_formula:
        numbers["relevance_formula"] = relevance_formula
    if combine == "relevance":
        return {"formula": "relevance"} | numbers
    if combine == "weighted":
        weights = {"relevance_weight": RELEVANCE_WEIGHT, "similarity_weight": SIMILARITY_WEIGHT}
        return {"formula": "relevance_weight × relevance + similarity_weight × similarity"} | numbers | weights
    return {"formula": "relevance × similarity" if hit.similarity >= 0 else "(2 − relevance) × similarity"} | numbers


def _reranked(candidate: GivenHit, rank: int, relevance_of: Mapping[str, float], *, combine: Combine) -> Reranked:
    relevance, score = relevance_of.get(candidate.id), candidate.similarity
    if relevance is not None:
        score = combined_score(relevance=relevance, similarity=candidate.similarity, combine=combine)
    return Reranked(candidate.id, score, candidate.similarity, relevance, rank)
