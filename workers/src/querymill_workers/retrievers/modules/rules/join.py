"""Fuse the channels of `modules`: the rankings by modules, by text and by vectors of descriptions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from querymill_workers.retrievers.modules.rules.documents import DocumentId, order_of
from querymill_workers.retrievers.modules.rules.names import Rule
from querymill_workers.retrievers.modules.rules.scores import ScoredDocument, SubQuery
from querymill_workers.text.languages import language_of
from querymill_workers.text.rank_fusion import K, join, ranks_by_score

MODULES: Final = "modules"
TEXT: Final = "text"
VECTORS: Final = "vectors"

#: Weight of the module channel if the request names a module: by a path, a class name or an alias, or, in a sub-query
#: that was given, by an exact shorthand ("ConeSource").
NAMED_WEIGHT: Final = 2.0
#: Its weight if modules were only guessed from plain words. The text channel reads the same words and measured
#: better, so the weight is small: a guess breaks ties and adds documents that the text channel did not find.
GUESSED_WEIGHT: Final = 0.001
TEXT_WEIGHT: Final = 1.0
#: Weight of the vectors of a text beside its words. On English requests they measured below the words even so.
VECTORS_WEIGHT: Final = 0.25
_NAMING: Final[frozenset[Rule]] = frozenset({"path", "class", "alias"})
_NAMING_IN_PARTS: Final[frozenset[Rule]] = _NAMING | {"shorthand"}


class ChannelRank(NamedTuple):
    """A document's place in one channel: its rank (from 1) and its score there."""

    rank: int
    score: float


class FusedHit(NamedTuple):
    """A document in the whole ranking: its score, and its place in each channel that found it."""

    document: DocumentId
    score: float
    channels: Mapping[str, ChannelRank]


def channel_weights(sub_queries: Iterable[SubQuery], *, given: bool = False) -> dict[str, float]:
    """Return the weight of each channel, depending on whether the request names modules or only suggests them.

    If its sub-queries were ``given``, each has a text channel of its own with its share, and the module channel has the
    shares of those that name modules. A sub-query that names none gets in its text channel what others get in both, so
    that shares compare: of 10/13 for vtkConeSource and 3/13 for "blue sky", modules weigh 2 × 10/13, the texts
    1 × 10/13 and 3 × 3/13.
    """
    parts = list(sub_queries)
    if not given:
        named = any(names_modules(part, _NAMING) for part in parts)
        return {MODULES: NAMED_WEIGHT if named else GUESSED_WEIGHT, TEXT: TEXT_WEIGHT}
    naming = [names_modules(part, _NAMING_IN_PARTS) for part in parts]
    whole = TEXT_WEIGHT + NAMED_WEIGHT if any(naming) else TEXT_WEIGHT
    shares = [float(part.share) for part in parts]
    modules = NAMED_WEIGHT * sum(share for share, names in zip(shares, naming, strict=True) if names)
    texts = {
        text_channel(place): share * (TEXT_WEIGHT if names else whole)
        for place, (share, names) in enumerate(zip(shares, naming, strict=True), start=1)
    }
    return {MODULES: max(modules, GUESSED_WEIGHT), **texts}


def names_modules(sub_query: SubQuery, naming: frozenset[Rule]) -> bool:
    """Return whether a sub-query names a module by one of these rules."""
    return any(module.rule in naming for module in sub_query.modules)


def chosen_channels(named: Sequence[str] | None, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the channels to search: those that the request names, else modules and text.

    A Chinese request has few words in common with English descriptions, so vectors are compared, too.
    """
    if named is not None:
        return tuple(named)
    is_chinese = any(language_of(text) == "zh" for text in texts)
    return (MODULES, TEXT, VECTORS) if is_chinese else (MODULES, TEXT)


def with_vectors(weights: Mapping[str, float]) -> dict[str, float]:
    """Return weights with those of the vector channels: a quarter of the weight of the words of the same text.

    With the shares 10/13 and 3/13, ``text:1`` weighs 0.769 and ``vectors:1`` 0.192, ``text:2`` 0.231 and ``vectors:2``
    0.058.
    """
    vectors = {
        vectors_channel(name): VECTORS_WEIGHT * weight for name, weight in weights.items() if name.startswith(TEXT)
    }
    return {**weights, **vectors}


def vectors_channel(text: str) -> str:
    """Return the name of the vector channel that belongs to a text channel: ``vectors:1`` to ``text:1``."""
    return f"{VECTORS}{text.removeprefix(TEXT)}"


def text_channel(place: int) -> str:
    """Return the name of the text channel of a sub-query that was given, from 1."""
    return f"{TEXT}:{place}"


def rank_by_modules(scored: Sequence[ScoredDocument]) -> list[FusedHit]:
    """Return the ranking of the module channel alone, with its own scores."""
    ranks = ranks_by_score([(hit.document, float(hit.score)) for hit in scored])
    return [
        FusedHit(hit.document, float(hit.score), {MODULES: ChannelRank(ranks[hit.document], float(hit.score))})
        for hit in scored
    ]


def fuse_channels(
    scored: Sequence[ScoredDocument],
    found: Mapping[str, Sequence[tuple[DocumentId, float]]],
    *,
    weights: Mapping[str, float],
) -> list[FusedHit]:
    """Fuse the module channel, the text and the vector channels by weighted RRF (k = 60, ranks from 1), best first.

    Equal scores share a rank. With the shares 10/13 and 3/13, the first of the heavier part scores 0.769 / 61 and the
    first of the lighter one 0.231 / 61.

    Ties are broken as `rank` breaks them: by sub-queries matched, then by exact hits, then by document id.
    """
    scores = {MODULES: {hit.document: float(hit.score) for hit in scored}}
    scores |= {channel: dict(hits) for channel, hits in found.items()}
    ranks = {channel: ranks_by_score(list(of_channel.items())) for channel, of_channel in scores.items()}
    hits = [
        FusedHit(
            hit.key, hit.score, {name: ChannelRank(rank, scores[name][hit.key]) for name, rank in hit.ranks.items()}
        )
        for hit in join(ranks, weights=weights, k=K)
    ]
    matched = {hit.document: (-hit.matched, -hit.exact) for hit in scored}
    return sorted(hits, key=lambda hit: (-hit.score, matched.get(hit.document, (0, 0)), order_of(hit.document)))
