"""Judge what was recalled: score documents by the modules they use, and by words, names and rare modules."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.values import value
from querymill_workers.retrievers.modules.rules.documents import DocumentId, decode_id, order_of
from querymill_workers.retrievers.modules.rules.fields import rank_by_words
from querymill_workers.retrievers.modules.rules.names import FoundModule, Match, find_mention, hits
from querymill_workers.retrievers.modules.rules.scores import (
    AskedPart,
    DocumentSummary,
    ModuleHit,
    PartHits,
    ScoredDocument,
)
from querymill_workers.retrievers.modules.search.recall import RecalledDocuments
from querymill_workers.retrievers.modules.search.understand import UnderstoodRequest


@value
class JudgedDocuments:
    """The documents of each channel, best first: those of the module channel with their hits, all others by channel."""

    by_modules: Sequence[ScoredDocument]
    others: Mapping[str, Sequence[tuple[DocumentId, float]]]


def judge_documents(
    understood: UnderstoodRequest, recalled: RecalledDocuments, request: ModuleSearch
) -> JudgedDocuments:
    """Rank the documents of each channel by its own scores."""
    names = understood.vocabulary.names
    by_modules = rank(recalled.modules.candidates, understood.parts, match=request.match)
    by_words = {
        channel: rank_by_words(
            [(decode_id(hit.id), hit.scored) for hit in found if hit.scored is not None],
            understood.texts[channel].words,
            names,
        )[: request.candidates]
        for channel, found in recalled.words.items()
    }
    return JudgedDocuments(by_modules, {**by_words, **recalled.vectors.near})


def rank(summaries: Iterable[DocumentSummary], parts: Sequence[AskedPart], *, match: Match) -> list[ScoredDocument]:
    """Score documents by their modules and sort them, best first.

    Ties are broken by parts matched, then by exact hits, then by document id.
    """
    scored = [found for summary in summaries if (found := score(summary, parts, match=match)) is not None]
    return sorted(scored, key=lambda hit: (-hit.score, -hit.matched, -hit.exact, order_of(hit.document)))


def score(summary: DocumentSummary, parts: Sequence[AskedPart], *, match: Match) -> ScoredDocument | None:
    """Score one document by its modules, or return None if it has no hit.

    In mode ``hits``, 2 hits at 10/13 and 1 at 3/13 give 23/13 = 1.769. Mode ``coverage`` divides the hits of each part
    by its number of modules. A part without modules adds nothing and keeps its share.
    """
    found = tuple(
        PartHits(part, tuple(hit for module in part.modules if (hit := _hit(module, summary, match)) is not None))
        for part in parts
    )
    if not any(each.hits for each in found):
        return None
    total = sum((each.part.per_hit * len(each.hits) for each in found), Fraction(0))
    return ScoredDocument(summary.document, total, found)


def _hit(module: FoundModule, summary: DocumentSummary, match: Match) -> ModuleHit | None:
    """Match a module with a document's names: exactly, else by suffix, else in the description."""
    for name in summary.names:
        if hits(module.name, name, match="exact"):
            return ModuleHit(module, "exact", name)
    for name in summary.names:
        if hits(module.name, name, match=match):
            return ModuleHit(module, "suffix", name)
    mentioned = find_mention(module, summary.description)
    return ModuleHit(module, "description", mentioned) if mentioned else None
