"""Recall documents in each channel: by the modules that they use, by words, and by vectors of descriptions."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.modules.search import AskedModule, ModuleSearch, RawRecall
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.modules.ports import KIND, SPACE, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import DocumentId, encode_id, order_of, read_id
from querymill_workers.retrievers.modules.rules.fields import field_terms
from querymill_workers.retrievers.modules.rules.scores import SHOWN_PLACES, AskedPart, DocumentSummary, ModuleRecall
from querymill_workers.retrievers.modules.search.understand import (
    MODULES,
    TEXT,
    VECTORS,
    UnderstoodRequest,
)
from querymill_workers.retrievers.modules.search.vector_recall import RecalledVectors, recall_vectors
from querymill_workers.words.narrowing import search_among
from querymill_workers.words.ports import WordHit

#: Documents whose names and rare modules are looked at in the text channel, whatever ``candidates`` are asked for.
TEXT_CANDIDATES: Final = 200


@value
class RecalledModules:
    """Documents that have a module asked for: all by module, and what is scored of the candidates among them.

    ``raw`` is what was found for each part, before scoring combines the parts.
    """

    raw: tuple[RawRecall, ...]
    candidates: Sequence[DocumentSummary]


@value
class RecalledDocuments:
    """What was recalled in all channels. A channel that failed has none, and ``degraded`` says why."""

    modules: RecalledModules
    words: Mapping[str, Sequence[WordHit]]
    vectors: RecalledVectors
    degraded: Sequence[Degradation]


def recall_documents(
    understood: UnderstoodRequest, claim: Claim, request: ModuleSearch, ports: ModulePorts, laps: Laps
) -> RecalledDocuments:
    """Recall documents in the channels of a request, among those that pass its filter.

    If words or vectors do not respond and something else was searched, the reason is noted.

    Raises:
        Unavailable, Refused: Nothing was searched: the request asks for no other channel, or all failed.
    """
    channels = understood.channels
    passing = passing_of(request, ports) if request.filter else None
    degraded: list[Degradation] = []
    by_modules = recall_modules(understood, passing, request, ports)
    if MODULES in channels:
        laps.lap("recall")
    by_words: Mapping[str, Sequence[WordHit]] = {}
    if TEXT in channels:
        try:
            by_words = recall_words(understood, passing, request, ports)
        except Unavailable as error:
            if len(channels) == 1:
                raise
            degraded.append(Degradation(stage=TEXT, reason=str(error), code=error.code))
        laps.lap("text")
    by_vectors = RecalledVectors({})
    if VECTORS in channels:
        is_alone = len(channels) == 1 + len(degraded)
        patience_s = None if is_alone else EMBEDDING_PATIENCE_S
        try:
            by_vectors = recall_vectors(understood, passing, claim, request, ports, patience_s=patience_s)
        except (Unavailable, Refused) as error:
            if is_alone:
                raise
            degraded.append(Degradation(stage=VECTORS, reason=str(error), code=error.code))
        laps.lap("vectors")
    return RecalledDocuments(by_modules, by_words, by_vectors, [*degraded, *by_vectors.gaps])


def recall_modules(
    understood: UnderstoodRequest, passing: AbstractSet[DocumentId] | None, request: ModuleSearch, ports: ModulePorts
) -> RecalledModules:
    """Recall the documents that have a module asked for, and read of the best ones what scoring needs."""
    if MODULES not in understood.channels:
        return RecalledModules(tuple(raw_recall(part, {}, limit=0) for part in understood.parts), ())
    keys = list(dict.fromkeys(module.key for part in understood.parts for module in part.modules))
    recalled = among(ports.modules.recall(request.collection, keys, match=request.match), passing)
    chosen = candidates(recalled, understood.parts, limit=request.candidates)
    return RecalledModules(
        raw=tuple(raw_recall(part, recalled, limit=request.candidates) for part in understood.parts),
        candidates=ports.modules.describe(request.collection, chosen),
    )


def passing_of(request: ModuleSearch, ports: ModulePorts) -> AbstractSet[DocumentId]:
    """Return the documents that pass the filter of a request."""
    return frozenset(map(read_id, ports.documents[KIND].ids(request.collection, request.filter)))


def among(recalled: Mapping[str, ModuleRecall], passing: AbstractSet[DocumentId] | None) -> Mapping[str, ModuleRecall]:
    """Return what recall found of the documents that pass the filter, if there is one."""
    if passing is None:
        return recalled
    return {
        key: ModuleRecall(exactly=passing & set(found.exactly), all=passing & set(found.all))
        for key, found in recalled.items()
    }


def candidates(recalled: Mapping[str, ModuleRecall], parts: Sequence[AskedPart], *, limit: int) -> list[DocumentId]:
    """Choose at most ``limit`` documents to score, best first, from what each module recalled (by its key).

    The order is that of `judge.rank` without hits in descriptions, which are read for the candidates only.
    """
    asked = list(dict.fromkeys(module.key for part in parts for module in part.modules))
    masks: defaultdict[DocumentId, int] = defaultdict(int)
    for place, key in enumerate(asked):
        for document in recalled[key].all:
            masks[document] |= 1 << 2 * place
        for document in recalled[key].exactly:
            masks[document] |= 2 << 2 * place
    groups: defaultdict[int, list[DocumentId]] = defaultdict(list)
    for document, mask in masks.items():
        groups[mask].append(document)
    places = {key: place for place, key in enumerate(asked)}
    tiers: defaultdict[tuple[Fraction, int, int], list[DocumentId]] = defaultdict(list)
    for mask, documents in groups.items():
        tiers[_tier(mask, parts, places)] += documents
    chosen: list[DocumentId] = []
    for tier in sorted(tiers):
        if len(chosen) >= limit:
            break
        chosen += sorted(tiers[tier], key=order_of)[: limit - len(chosen)]
    return chosen


def _tier(mask: int, parts: Sequence[AskedPart], places: Mapping[str, int]) -> tuple[Fraction, int, int]:
    counts = [sum(mask >> 2 * places[module.key] & 3 > 0 for module in part.modules) for part in parts]
    exact = sum(mask >> 2 * places[module.key] & 2 > 0 for part in parts for module in part.modules)
    total = sum((part.per_hit * count for part, count in zip(parts, counts, strict=True)), Fraction(0))
    return -total, -sum(count > 0 for count in counts), -exact


def raw_recall(part: AskedPart, recalled: Mapping[str, ModuleRecall], *, limit: int) -> RawRecall:
    """Return what recall found for one part, before scoring combines the parts."""
    own = {module.key: recalled[module.key] for module in part.modules if module.key in recalled}
    return RawRecall(
        description=part.description,
        weight=part.weight,
        normalized_weight=round(part.normalized_weight, SHOWN_PLACES),
        modules=tuple(AskedModule(module=module.name, rule=module.rule, text=module.text) for module in part.modules),
        total=len(set().union(*(found.all for found in own.values()))),
        documents=tuple(candidates(own, [part], limit=limit)) if own else (),
    )


def recall_words(
    understood: UnderstoodRequest, passing: Collection[DocumentId] | None, request: ModuleSearch, ports: ModulePorts
) -> Mapping[str, Sequence[WordHit]]:
    """Recall by BM25 the passing documents that have words of each text, and the fields that are weighed with them."""
    ids = None if passing is None else {encode_id(document) for document in passing}
    return {
        channel: search_among(
            ports.words,
            request.collection,
            SPACE,
            text.by_words,
            limit=max(TEXT_CANDIDATES, request.candidates),
            among=ids,
            also=field_terms(text.words, understood.vocabulary.names),
            beside=text.beside,
        )
        for channel, text in understood.texts.items()
    }
