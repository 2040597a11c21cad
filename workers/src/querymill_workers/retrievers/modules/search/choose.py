"""Choose documents: fuse the channels by rank, and say of the first ones why they were found."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.values import value
from querymill_workers.retrievers.modules.notes import ChannelRank, FusedDocument, MatchReasons
from querymill_workers.retrievers.modules.rules.documents import DocumentId, order_of
from querymill_workers.retrievers.modules.rules.names import Rule
from querymill_workers.retrievers.modules.rules.scores import AskedPart, ScoredDocument
from querymill_workers.retrievers.modules.search.judge import JudgedDocuments
from querymill_workers.retrievers.modules.search.understand import (
    MODULES,
    TEXT,
    VECTORS,
    UnderstoodRequest,
    text_channel,
    vectors_channel,
)
from querymill_workers.text.rank_fusion import K, join, ranks_by_score

#: Weight of the module channel if the request names a module: by a path, a class name or an alias, or, in a part
#: that was given, by an exact shorthand ("ConeSource").
NAMED_WEIGHT: Final = 2.0
#: Its weight if modules were only guessed from plain words. The text channel reads the same words and measured
#: better, so the weight is small: a guess breaks ties and adds documents that the text channel did not find.
GUESSED_WEIGHT: Final = 0.001
TEXT_WEIGHT: Final = 1.0
_NAMING: Final[frozenset[Rule]] = frozenset({"path", "class", "alias"})
_NAMING_IN_PARTS: Final[frozenset[Rule]] = _NAMING | {"shorthand"}


@value
class ChosenDocuments:
    """The whole ranking, best first, the weights of its channels, and why the first ones were found.

    ``weights`` is empty if no channels were fused.
    """

    ranking: Sequence[FusedDocument]
    weights: Mapping[str, float]
    matches: tuple[MatchReasons, ...]


def choose_documents(understood: UnderstoodRequest, judged: JudgedDocuments, request: ModuleSearch) -> ChosenDocuments:
    """Fuse the channels by rank. Without another channel than the modules, their scores are kept."""
    weights = channel_weights(understood.parts, given=bool(request.sub_queries)) if judged.others else {}
    if VECTORS in understood.channels:
        weights = with_vectors(weights, understood.weight.weight)
    ranking = fuse_channels(judged.by_modules, judged.others, weights=weights)
    scored = {hit.document: hit for hit in judged.by_modules}
    matches = tuple(
        MatchReasons(tuple(each.explained for each in hit.found), hit.keywords)
        if (hit := scored.get(ranked.document))
        else MatchReasons()
        for ranked in ranking[: request.top_k]
    )
    return ChosenDocuments(ranking, weights, matches)


def channel_weights(parts: Sequence[AskedPart], *, given: bool = False) -> dict[str, float]:
    """Return the weight of each channel, depending on whether the request names modules or only suggests them.

    If its parts were ``given``, each has a text channel of its own with its share, and the module channel has the
    shares of those that name modules. A part that names none gets in its text channel what others get in both, so
    that shares compare: of 10/13 for vtkConeSource and 3/13 for "blue sky", modules weigh 2 × 10/13, the texts
    1 × 10/13 and 3 × 3/13.
    """
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


def names_modules(part: AskedPart, naming: frozenset[Rule]) -> bool:
    """Return whether a part names a module by one of these rules."""
    return any(module.rule in naming for module in part.modules)


def with_vectors(weights: Mapping[str, float], beside: float) -> dict[str, float]:
    """Return weights with those of the vector channels: ``beside`` 1 of the words of the same text.

    With 0.25 and the shares 10/13 and 3/13, ``text:1`` weighs 0.769 and ``vectors:1`` 0.192, ``text:2`` 0.231 and
    ``vectors:2`` 0.058.
    """
    vectors = {vectors_channel(name): beside * weight for name, weight in weights.items() if name.startswith(TEXT)}
    return {**weights, **vectors}


def fuse_channels(
    scored: Sequence[ScoredDocument],
    found: Mapping[str, Sequence[tuple[DocumentId, float]]],
    *,
    weights: Mapping[str, float],
) -> list[FusedDocument]:
    """Fuse the module channel, the text and the vector channels by weighted RRF (k = 60, ranks from 1), best first.

    Equal scores share a rank. With the shares 10/13 and 3/13, the first of the heavier part scores 0.769 / 61 and the
    first of the lighter one 0.231 / 61. Without weights, the scores of the module channel are kept.

    Ties are broken as `judge.rank` breaks them: by parts matched, then by exact hits, then by document id.
    """
    scores = {MODULES: {hit.document: float(hit.score) for hit in scored}}
    scores |= {channel: dict(hits) for channel, hits in found.items()}
    ranks = {channel: ranks_by_score(list(of_channel.items())) for channel, of_channel in scores.items()}
    if not weights:
        return [
            FusedDocument(document, score, {MODULES: ChannelRank(ranks[MODULES][document], score)})
            for document, score in scores[MODULES].items()
        ]
    hits = [
        FusedDocument(
            hit.key, hit.score, {name: ChannelRank(rank, scores[name][hit.key]) for name, rank in hit.ranks.items()}
        )
        for hit in join(ranks, weights=weights, k=K)
    ]
    matched = {hit.document: (-hit.matched, -hit.exact) for hit in scored}
    return sorted(hits, key=lambda hit: (-hit.score, matched.get(hit.document, (0, 0)), order_of(hit.document)))
