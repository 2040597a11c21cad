"""Score documents by the modules they use: weighted sub-queries, hits, and tie-breaks.

normalized_weight_i = weight_i / Σ weight_j          (over all sub-queries; a Σ of 0 counts as 1)
score(document)     = Σ hits_i × normalized_weight_i
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from querymill_shared.values import value
from querymill_workers.retrievers.modules.rules.documents import DocumentId, order_of
from querymill_workers.retrievers.modules.rules.names import FoundModule, Match, hits

Mode = Literal["hits", "coverage"]
How = Literal["exact", "suffix", "description"]

#: Decimal places of the scores in results.
SHOWN_PLACES: Final = 6


@value
class SubQuery:
    """A part of the request, the modules it asks for, and its share of all weights."""

    description: str
    weight: float
    share: Fraction
    modules: tuple[FoundModule, ...]

    @property
    def normalized_weight(self) -> float:
        """The share as a float."""
        return float(self.share)


@value
class DocumentSummary:
    """The part of a document that scoring reads: its id, its modules and its description."""

    document: DocumentId
    names: tuple[str, ...]
    description: str


@value
class ModuleHit:
    """A module asked for that a document has, how it was matched, and the name it was matched with."""

    module: FoundModule
    how: How
    name: str


@value
class ScoredDocument:
    """A document with at least one hit. ``found`` holds its hits for each sub-query, in order."""

    document: DocumentId
    score: Fraction
    found: tuple[tuple[ModuleHit, ...], ...]

    @property
    def matched(self) -> int:
        """The number of sub-queries that the document matches."""
        return sum(bool(hits_) for hits_ in self.found)

    @property
    def exact(self) -> int:
        """The number of exact hits."""
        return sum(hit.how == "exact" for hits_ in self.found for hit in hits_)


@value
class ExplainedHit:
    """A hit as results show it: the module, the rule and words that asked for it, and how it matched which name."""

    module: str
    rule: str
    text: str
    how: str
    name: str


@value
class ExplainedPart:
    """What one sub-query adds to a document's score, as results show it. ``asked`` lists all modules it asks for."""

    description: str
    weight: float
    normalized_weight: float
    hits: int
    modules: tuple[ExplainedHit, ...]
    asked: tuple[str, ...]


@value
class ModuleRecall:
    """The documents that have a module: ``exactly`` by its exact name, ``all`` by any name that counts."""

    exactly: Collection[DocumentId]
    all: Collection[DocumentId]


def shares(weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Divide each weight by their sum: 10 and 3 give 10/13 and 3/13. If all weights are 0, the shares are 0.

    The shares are fractions, so that scores which are equal on paper tie.
    """
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact) or Fraction(1)
    return tuple(weight / total for weight in exact)


def score(
    summary: DocumentSummary, sub_queries: Sequence[SubQuery], *, match: Match, mode: Mode = "hits"
) -> ScoredDocument | None:
    """Score one document, or return None if it has no hit.

    In mode ``hits``, 2 hits at 10/13 and 1 at 3/13 give 23/13 = 1.769. Mode ``coverage`` divides the hits of each
    sub-query by its number of modules. A sub-query without modules adds nothing and keeps its share.
    """
    found = tuple(
        tuple(hit for module in sub_query.modules if (hit := _hit(module, summary, match)) is not None)
        for sub_query in sub_queries
    )
    if not any(found):
        return None
    parts = zip(sub_queries, found, strict=True)
    return ScoredDocument(summary.document, _total([(sub, len(hits_)) for sub, hits_ in parts], mode), found)


def rank(
    summaries: Iterable[DocumentSummary], sub_queries: Sequence[SubQuery], *, match: Match, mode: Mode = "hits"
) -> list[ScoredDocument]:
    """Score documents and sort them, best first.

    Ties are broken by sub-queries matched, then by exact hits, then by document id.
    """
    scored = [
        found for summary in summaries if (found := score(summary, sub_queries, match=match, mode=mode)) is not None
    ]
    return sorted(scored, key=lambda hit: (-hit.score, -hit.matched, -hit.exact, order_of(hit.document)))


def candidates(
    recalled: Mapping[str, ModuleRecall], sub_queries: Sequence[SubQuery], *, limit: int, mode: Mode = "hits"
) -> list[DocumentId]:
    """Choose at most ``limit`` documents to score, best first, from what each module recalled (by its key).

    The order is that of `rank` without hits in descriptions, which are read for the candidates only.
    """
    asked = list(dict.fromkeys(module.key for sub_query in sub_queries for module in sub_query.modules))
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
        tiers[_tier(mask, sub_queries, places, mode)] += documents
    chosen: list[DocumentId] = []
    for tier in sorted(tiers):
        if len(chosen) >= limit:
            break
        chosen += sorted(tiers[tier], key=order_of)[: limit - len(chosen)]
    return chosen


def explain(hit: ScoredDocument, sub_queries: Sequence[SubQuery]) -> list[ExplainedPart]:
    """Return for each sub-query its share and the modules that hit. Σ hits × normalized_weight is the score."""
    return [
        ExplainedPart(
            description=sub_query.description,
            weight=sub_query.weight,
            normalized_weight=round(sub_query.normalized_weight, SHOWN_PLACES),
            hits=len(found),
            modules=tuple(
                ExplainedHit(met.module.name, met.module.rule, met.module.text, met.how, met.name) for met in found
            ),
            asked=tuple(module.name for module in sub_query.modules),
        )
        for sub_query, found in zip(sub_queries, hit.found, strict=True)
    ]


def keywords(hit: ScoredDocument) -> list[str]:
    """Return the modules that hit, each once, in the order of the sub-queries."""
    modules = [met.module for found in hit.found for met in found]
    names = {module.key: module.name for module in reversed(modules)}
    return [names[key] for key in dict.fromkeys(module.key for module in modules)]


def _tier(
    mask: int, sub_queries: Sequence[SubQuery], places: Mapping[str, int], mode: Mode
) -> tuple[Fraction, int, int]:
    counts = [
        (sub_query, sum(mask >> 2 * places[module.key] & 3 > 0 for module in sub_query.modules))
        for sub_query in sub_queries
    ]
    exact = sum(mask >> 2 * places[module.key] & 2 > 0 for sub_query in sub_queries for module in sub_query.modules)
    return -_total(counts, mode), -sum(count > 0 for _, count in counts), -exact


def _total(counts: Sequence[tuple[SubQuery, int]], mode: Mode) -> Fraction:
    each = [sub.share * count / (len(sub.modules) if mode == "coverage" else 1) for sub, count in counts if count]
    return sum(each, Fraction(0))


def _hit(module: FoundModule, summary: DocumentSummary, match: Match) -> ModuleHit | None:
    """Match a module with a document's names: exactly, else by suffix, else in the description."""
    for name in summary.names:
        if hits(module.name, name, match="exact"):
            return ModuleHit(module, "exact", name)
    for name in summary.names:
        if hits(module.name, name, match=match):
            return ModuleHit(module, "suffix", name)
    # Most descriptions lack these letters altogether, and that is quicker to check than to search for a word.
    mentioned = module.key in summary.description.lower() and _mention(module.key).search(summary.description)
    return ModuleHit(module, "description", mentioned[0]) if mentioned else None


@lru_cache(maxsize=4096)
def _mention(key: str) -> re.Pattern[str]:
    # Decided: a mention is a whole word, or `actor` would be found in every "factor".
    return re.compile(rf"(?<![A-Za-z0-9_])(?:vtk)?{re.escape(key)}(?![A-Za-z0-9_])", re.IGNORECASE | re.ASCII)
