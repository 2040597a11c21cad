"""The hits of the result: the best of the ranking with their texts, as callers and prompts read them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from querymill_shared.contracts.reports.search import ReportHit, ReportSearch
from querymill_workers.retrievers.reports.findings import Findings
from querymill_workers.retrievers.reports.ports import PassageText, ReportPorts
from querymill_workers.retrievers.reports.rules.duplicates import Unlike
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.joining import RankedHit, explain_ranked
from querymill_workers.retrievers.reports.rules.pending import explain_pending, with_pending
from querymill_workers.services.writing import CitableHit

#: So many times the wanted hits are read at most, to fill the places of near duplicates.
READ_AT_MOST = 4


def best_hits(findings: Findings, ports: ReportPorts, *, count: int) -> list[tuple[RankedHit, PassageText]]:
    """Return the best hits with their texts.

    Of near duplicates only the first counts. A hit whose report has been replaced since is dropped.
    """
    ranking = findings.ranking
    if findings.request.ranking == "agreement" and not findings.words:
        ranking = _with_pending(findings, count=count)
    return distinct_hits(ranking, findings.request, ports, count=count)


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
    for key, others in unlike.alike.items():
        hit, text = best[key]
        best[key] = (hit._replace(duplicates=tuple(others)), text)
    return list(best.values())


def _with_pending(findings: Findings, *, count: int) -> list[RankedHit]:
    """Keep places for passages without a vector, where words do not rank."""
    if not findings.pending:
        return list(findings.ranking)
    known = {hit.key: hit for hit in findings.ranking}
    fusion = [hit.fused for hit in findings.ranking if hit.fused is not None]
    chosen = with_pending(fusion, findings.pending, query=findings.request.query, top_n=count)
    return [known.get(hit.key) or RankedHit(hit.key, hit.score, hit.passage) for hit in chosen]


def report_hits(hits: Sequence[tuple[RankedHit, PassageText]], findings: Findings) -> Iterator[ReportHit]:
    """Yield the hits as the result has them."""
    request = findings.request
    pending = {hit.key: hit for hit in findings.pending}

    def explained(hit: RankedHit) -> dict[str, Any]:
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
            explanation=explained(hit),
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
