"""Joining the two channels of `modules`: documents by their modules, and by their words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from querymill_workers.retrievers.modules.rules.documents import DocumentId, order_of
from querymill_workers.retrievers.modules.rules.names import Rule
from querymill_workers.retrievers.modules.rules.scores import ScoredDocument, SubQuery
from querymill_workers.text.rank_fusion import K, join, ranks_by_score

MODULES: Final = "modules"
TEXT: Final = "text"

#: Weight of the module channel where the request names a module outright (a path or a class name).
NAMED_WEIGHT: Final = 2.0
#: Its weight where modules were only guessed from plain words. The text channel reads the same words, and
#: measured better: so small that a guess breaks ties and adds what the words did not find, no more.
GUESSED_WEIGHT: Final = 0.001
TEXT_WEIGHT: Final = 1.0
_NAMING: Final[frozenset[Rule]] = frozenset({"path", "class"})


class ChannelRank(NamedTuple):
    """A document's place in one channel: its rank, from 1, and its score there."""

    rank: int
    score: float


class FusedHit(NamedTuple):
    """A document's place in the whole ranking: its score, and its place in every channel that found it."""

    document: DocumentId
    score: float
    channels: Mapping[str, ChannelRank]


def channel_weights(sub_queries: Iterable[SubQuery]) -> dict[str, float]:
    """Weigh the channels by how the request speaks of modules."""
    rules = {module.rule for sub_query in sub_queries for module in sub_query.modules}
    return {MODULES: NAMED_WEIGHT if rules & _NAMING else GUESSED_WEIGHT, TEXT: TEXT_WEIGHT}


def rank_by_modules(scored: Sequence[ScoredDocument]) -> list[FusedHit]:
    """Keep the ranking of the module channel as it is, scores included."""
    ranks = ranks_by_score([(hit.document, float(hit.score)) for hit in scored])
    return [
        FusedHit(hit.document, float(hit.score), {MODULES: ChannelRank(ranks[hit.document], float(hit.score))})
        for hit in scored
    ]


def fuse_channels(
    scored: Sequence[ScoredDocument], found: Sequence[tuple[DocumentId, float]], *, weights: Mapping[str, float]
) -> list[FusedHit]:
    """Join the channels by weighted RRF (k = 60, ranks from 1, equal scores share a rank), best first.

    Ties: more sub-queries matched, more exact hits, then the document id, as `rank` breaks them.
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
