"""Fuse the two channels of `modules`: the ranking by modules and the ranking by text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from querymill_workers.retrievers.modules.rules.documents import DocumentId, order_of
from querymill_workers.retrievers.modules.rules.names import Rule
from querymill_workers.retrievers.modules.rules.scores import ScoredDocument, SubQuery
from querymill_workers.text.rank_fusion import K, join, ranks_by_score

MODULES: Final = "modules"
TEXT: Final = "text"

#: Weight of the module channel if the request names a module explicitly (by a path or a class name).
NAMED_WEIGHT: Final = 2.0
#: Its weight if modules were only guessed from plain words. The text channel reads the same words and measured
#: better, so the weight is small: a guess breaks ties and adds documents that the text channel did not find.
GUESSED_WEIGHT: Final = 0.001
TEXT_WEIGHT: Final = 1.0
_NAMING: Final[frozenset[Rule]] = frozenset({"path", "class"})


class ChannelRank(NamedTuple):
    """A document's place in one channel: its rank (from 1) and its score there."""

    rank: int
    score: float


class FusedHit(NamedTuple):
    """A document in the whole ranking: its score, and its place in each channel that found it."""

    document: DocumentId
    score: float
    channels: Mapping[str, ChannelRank]


def channel_weights(sub_queries: Iterable[SubQuery]) -> dict[str, float]:
    """Return the weight of each channel, depending on whether the request names modules or only suggests them."""
    rules = {module.rule for sub_query in sub_queries for module in sub_query.modules}
    return {MODULES: NAMED_WEIGHT if rules & _NAMING else GUESSED_WEIGHT, TEXT: TEXT_WEIGHT}


def rank_by_modules(scored: Sequence[ScoredDocument]) -> list[FusedHit]:
    """Return the ranking of the module channel alone, with its own scores."""
    ranks = ranks_by_score([(hit.document, float(hit.score)) for hit in scored])
    return [
        FusedHit(hit.document, float(hit.score), {MODULES: ChannelRank(ranks[hit.document], float(hit.score))})
        for hit in scored
    ]


def fuse_channels(
    scored: Sequence[ScoredDocument], found: Sequence[tuple[DocumentId, float]], *, weights: Mapping[str, float]
) -> list[FusedHit]:
    """Fuse the channels by weighted RRF (k = 60, ranks from 1, equal scores share a rank), best first.

    Ties are broken as `rank` breaks them: by sub-queries matched, then by exact hits, then by document id.
    """
    scores = {MODULES: {hit.document: float(hit.score) for hit in scored}, TEXT: dict(found)}
    ranks = {channel: ranks_by_score(list(of_channel.items())) for channel, of_channel in scores.items()}
    hits = [
        FusedHit(
            hit.key, hit.score, {name: ChannelRank(rank, scores[name][hit.key]) for name, rank in hit.ranks.items()}
        )
        for hit in join(ranks, weights=weights, k=K)
    ]
    matched = {hit.document: (-hit.matched, -hit.exact) for hit in scored}
    return sorted(hits, key=lambda hit: (-hit.score, matched.get(hit.document, (0, 0)), order_of(hit.document)))
