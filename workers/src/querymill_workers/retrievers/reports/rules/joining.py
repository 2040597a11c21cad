"""The ranking of a search: the fusion's order joined with that of the words, and shared among what is compared."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from querymill_workers.retrievers.reports.rules.fusion import FusedPassage, HitKey, QueryHit, explain, fuse
from querymill_workers.retrievers.reports.rules.routing import Side
from querymill_workers.text.rank_fusion import reciprocal_rank_fusion
from querymill_workers.vectors.rules.weights import VectorsWeight, explain_weight

#: What a rank by words weighs, and by vectors if nothing is known of them. Measured: tests/quality/reports.md.
WORDS_WEIGHT, USUAL_WEIGHT = 1.0, 0.5
#: The constant of the formula.
K: Final = 10
_SHOWN_PLACES: Final = 6


class WordsHit(NamedTuple):
    """A passage that the words of a query found, the page or chunk that it counts for, and its BM25 score."""

    query: str
    key: HitKey
    passage: int
    bm25: float


class RankedHit(NamedTuple):
    """A page or chunk of the ranking. ``fused`` is None if no vector found it, and ``by_words`` if no word did.

    ``score`` is rounded for display. ``ranks`` are those in the order of the words and of the vectors, from 1; without
    them the score is that of the fusion alone. ``weight`` is that of the vectors. ``side`` is the company and period
    that it has its place for.
    """

    key: HitKey
    score: float
    passage: int
    fused: FusedPassage | None = None
    by_words: FusedPassage | None = None
    ranks: Mapping[str, int] | None = None
    weight: VectorsWeight = VectorsWeight(USUAL_WEIGHT)
    side: str | None = None
    duplicates: tuple[HitKey, ...] = ()

    @property
    def similarity(self) -> float:
        """The largest inner product; 0 if there is no vector yet."""
        return 0.0 if self.fused is None else self.fused.similarity


def order_by_words(found: Iterable[WordsHit]) -> list[FusedPassage]:
    """Order the keys that words found.

    The formula is that of `fuse`, over each BM25 score as a share of its query's best: ``max(bm25 / best) × (1 + 0.2 ×
    (count − 1))``. With the scores 8 and 6 for one query and 3 for another whose best is 4, the first key scores 1, and
    the second max(0.75, 0.75) × 1.2 = 0.9.
    """
    hits = list(found)
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.query] = max(best.get(hit.query, 0.0), hit.bm25)
    shares = [QueryHit(hit.query, hit.key, hit.passage, hit.bm25 / best[hit.query]) for hit in hits if hit.bm25 > 0]
    return fuse(shares, top_n=len(shares))


def joined(fusion: Sequence[FusedPassage], by_words: Sequence[FusedPassage], weight: VectorsWeight) -> list[RankedHit]:
    """Join two orders by weighted reciprocal ranks: ``1 / (10 + words_rank) + weight / (10 + vectors_rank)``.

    What only one of them has gets nothing from the other. With the weight 0.5, a hit that is third by words and first
    by vectors scores 1/13 + 0.5/11 = 0.1224, more than one that is second by words alone (1/12 = 0.0833). Ties break on
    the key.
    """
    of_fusion, of_words = {hit.key: hit for hit in fusion}, {hit.key: hit for hit in by_words}
    keys = {key.encoded(): key for key in (*of_fusion, *of_words)}
    orders = {"words": [hit.key.encoded() for hit in by_words], "vectors": [hit.key.encoded() for hit in fusion]}
    ranking = []
    weights = {"words": WORDS_WEIGHT, "vectors": weight.weight}
    for hit in reciprocal_rank_fusion(orders, weights=weights, k=K):
        key = keys[hit.key]
        fused, words = of_fusion.get(key), of_words.get(key)
        passage = fused.passage if words is None and fused is not None else words.passage if words is not None else 0
        ranking.append(RankedHit(key, round(hit.score, _SHOWN_PLACES), passage, fused, words, hit.ranks, weight))
    return ranking


def in_turn(ranking: Sequence[RankedHit], sides: Sequence[Side]) -> list[RankedHit]:
    """Share a ranking among the sides that a question compares: the best of each, then the second of each, and so on.

    The side with the best hit begins. With sides A and B, the ranking A1 A2 A3 B1 becomes A1 B1 A2 A3. Nothing changes
    with fewer than two sides. A document of several sides counts for the first.
    """
    if len(sides) < 2:
        return list(ranking)
    names: dict[str, str] = {}
    for side in sides:
        for document in side.documents:
            names.setdefault(document, side.name)
    waiting: dict[str, deque[RankedHit]] = defaultdict(deque)
    for hit in ranking:
        waiting[names.get(hit.key.document, "")].append(hit)
    shared: list[RankedHit] = []
    while any(waiting.values()):
        for name, hits in waiting.items():
            if hits:
                shared.append(_of_side(hits.popleft(), name))
    return shared


def explain_ranked(hit: RankedHit, *, inner_factor: float) -> dict[str, Any]:
    """Explain a hit's score, so that a person can recompute it by hand.

    The names of the fusion's explanation are in every explanation. A joined hit adds both ranks, and how it came to
    its place in the order of the words.
    """
    fusion = _explain_fusion(hit, inner_factor=inner_factor)
    if hit.ranks is None:
        return fusion | _place(hit)
    return (
        fusion
        | {
            "formula": "words_weight / (k + words_rank) + vectors_weight / (k + vectors_rank)",
            "fusion_formula": fusion["formula"],
            "fusion_score": fusion["score"],
            "words_weight": WORDS_WEIGHT,
            "vectors_weight": hit.weight.weight,
            **explain_weight(hit.weight),
            "k": K,
            "words_rank": hit.ranks.get("words"),
            "vectors_rank": hit.ranks.get("vectors"),
            "words": None if hit.by_words is None else _explain_words(hit.by_words),
            "score": hit.score,
            "rounded_to": _SHOWN_PLACES,
        }
        | _place(hit)
    )


def _explain_fusion(hit: RankedHit, *, inner_factor: float) -> dict[str, Any]:
    if hit.fused is not None:
        return explain(hit.fused, inner_factor=inner_factor)
    queries = () if hit.by_words is None else hit.by_words.queries
    none = FusedPassage(hit.key, 0.0, 0.0, max(len(queries), 1), queries, hit.passage)
    return explain(none, inner_factor=inner_factor) | {
        "formula": "0: no vector of it and the question was compared",
        "agreement_factor": 1.0,
    }


def _explain_words(hit: FusedPassage) -> dict[str, Any]:
    return {
        "formula": "share_of_best_bm25 × (1 + agreement × (count − 1))",
        "share_of_best_bm25": hit.similarity,
        "agreement": 0.2,
        "count": hit.query_count,
        "queries": list(hit.queries),
        "passage": hit.passage,
        "score": hit.score,
    }


def _place(hit: RankedHit) -> dict[str, Any]:
    place: dict[str, Any] = {} if hit.side is None else {"in_turn_for": hit.side}
    return place | ({"duplicates": [key.encoded() for key in hit.duplicates]} if hit.duplicates else {})


def _of_side(hit: RankedHit, side: str) -> RankedHit:
    return hit._replace(side=side or None)
