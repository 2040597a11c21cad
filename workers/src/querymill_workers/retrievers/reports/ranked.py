"""The ranking of a search, from what its branches left on the board, and the hits of the result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from querymill_shared.board import Picture
from querymill_shared.contracts.reports.search import ReportHit, ReportSearch
from querymill_shared.hits import BoardHit
from querymill_workers.retrievers.reports.notes import original_of, unembedded_of, words_of
from querymill_workers.retrievers.reports.ports import PassageText, ReportPorts
from querymill_workers.retrievers.reports.rules.duplicates import Unlike
from querymill_workers.retrievers.reports.rules.fusion import FusedHit, HitKey, QueryHit, decode_key, fuse
from querymill_workers.retrievers.reports.rules.joining import (
    RankedHit,
    WordsHit,
    explain_ranked,
    in_turn,
    joined,
    order_by_words,
)
from querymill_workers.retrievers.reports.rules.pending import explain_pending, with_pending
from querymill_workers.retrievers.reports.rules.routing import Side
from querymill_workers.retrievers.reports.unembedded import pending_hits
from querymill_workers.services.writing import CitableHit

#: So many times the wanted hits are read at most, to fill the places of near duplicates.
READ_AT_MOST = 4


def fused(picture: Picture, request: ReportSearch) -> list[FusedHit]:
    """Fuse every (query, hit) pair on the board."""
    return fuse_found(picture.hits, request)


def fuse_found(found_by: Mapping[str, Sequence[BoardHit]], request: ReportSearch) -> list[FusedHit]:
    """Fuse every (query, hit) pair."""
    hits = [
        QueryHit(query=query, key=decode_key(hit.key), passage=hit.passage, inner_product=hit.score)
        for query, found in found_by.items()
        for hit in found
    ]
    return fuse(hits, top_n=len(hits), inner_factor=request.inner_factor)


def ranking_of(picture: Picture, request: ReportSearch) -> list[RankedHit]:
    """Return the ranking of all hits. Those of a comparison are shared among its sides."""
    original = original_of(picture, request)
    sides = () if original is None else original.sides
    return rank(fused(picture, request), words_of(picture, request), sides)


def rank(fusion: Sequence[FusedHit], by_words: Sequence[WordsHit], sides: Sequence[Side]) -> list[RankedHit]:
    """Join the order of the fusion with that of the words, and share the ranking among the sides of a comparison."""
    if by_words:
        ranking = joined(fusion, order_by_words(by_words))
    else:  # not asked for, nothing found, or branches of the release before
        ranking = [RankedHit(hit.key, hit.score, hit.passage, hit) for hit in fusion]
    return in_turn(ranking, sides)


def count_hits(picture: Picture, request: ReportSearch) -> int:
    """Count the hits before the cut to top_n. Near duplicates count each."""
    pending = {hit.key for hit in pending_hits(unembedded_of(picture, request))}
    return len({hit.key for hit in ranking_of(picture, request)} | pending)


def best_hits(
    picture: Picture, request: ReportSearch, ports: ReportPorts, *, count: int
) -> list[tuple[RankedHit, PassageText]]:
    """Return the best hits with their texts.

    Of near duplicates only the first counts. A hit whose report has been replaced since is dropped.
    """
    ranking = ranking_of(picture, request)
    if request.ranking == "agreement" and not words_of(picture, request):
        ranking = _with_waiting(ranking, picture, request, count=count)
    return distinct_hits(ranking, request, ports, count=count)


def distinct_hits(
    ranking: Sequence[RankedHit], request: ReportSearch, ports: ReportPorts, *, count: int
) -> list[tuple[RankedHit, PassageText]]:
    """Return the first hits of a ranking with their texts, without near duplicates and what is no longer stored."""
    best: dict[HitKey, tuple[RankedHit, PassageText]] = {}
    unlike: Unlike[HitKey] = Unlike({}, {})
    for start in range(0, min(len(ranking), READ_AT_MOST * count), count):
        part = ranking[start : start + count]
        texts = ports.reports.texts(request.collection, [hit.key for hit in part])
        for hit in part:
            text = texts.get(hit.key)
            if text is not None and len(best) < count and unlike.take(hit.key, text.text):
                best[hit.key] = (hit, text)
        if len(best) == count:
            break
    alike = unlike.alike
    return [(replace(hit, duplicates=tuple(alike.get(key, ()))), text) for key, (hit, text) in best.items()]


def _with_waiting(
    ranking: Sequence[RankedHit], picture: Picture, request: ReportSearch, *, count: int
) -> list[RankedHit]:
    """Keep places for passages without a vector, where words do not rank."""
    known = {hit.key: hit for hit in ranking}
    fusion = [hit.fused for hit in ranking if hit.fused is not None]
    waiting = pending_hits(unembedded_of(picture, request))
    chosen = with_pending(fusion, waiting, query=request.query, top_n=count)
    if not waiting:
        return list(ranking)
    return [known.get(hit.key) or RankedHit(hit.key, hit.score, hit.passage) for hit in chosen]


def report_hits(
    hits: Sequence[tuple[RankedHit, PassageText]], picture: Picture, request: ReportSearch
) -> Iterator[ReportHit]:
    """Yield the hits as the result has them."""
    pending = {hit.key: hit for hit in pending_hits(unembedded_of(picture, request))}

    def explained(hit: RankedHit) -> Mapping[str, Any]:
        if hit.fused is None and hit.by_words is None:
            return explain_pending(pending[hit.key], query=request.query)
        return explain_ranked(hit, inner_factor=request.inner_factor)

    for hit, text in hits:
        yield ReportHit(
            document=hit.key.document,
            unit=hit.key.unit,
            number=hit.key.number,
            page=text.page,
            title=text.card.title,
            company=text.card.company,
            period=text.card.period,
            text=text.text,
            score=hit.score,
            similarity=hit.similarity,
            explanation=dict(explained(hit)),
            metadata=text.metadata if request.shows_metadata else None,
        )


def matched_texts(hits: Sequence[RankedHit], request: ReportSearch, ports: ReportPorts) -> Mapping[HitKey, str]:
    """Return the passage that matched in each page that is a hit."""
    chunks = {hit.key: HitKey(hit.key.document, "chunk", hit.passage) for hit in hits if hit.key.unit == "page"}
    texts = ports.reports.texts(request.collection, list(chunks.values())) if chunks else {}
    return {key: texts[chunk].text for key, chunk in chunks.items() if chunk in texts}


def citable(hit: ReportHit, matched: str) -> CitableHit:
    """Return a hit as a prompt shows it: under its title, company, period and page, and cut around what matched."""
    key = HitKey(hit.document, hit.unit, hit.number).encoded()
    whose = [part for part in (hit.title, hit.company, hit.period) if part]
    label = ", ".join([*dict.fromkeys(whose), f"page {hit.page}"])
    return CitableHit(key, hit.text, hit.page, hit.title, label=label, matched=matched)
