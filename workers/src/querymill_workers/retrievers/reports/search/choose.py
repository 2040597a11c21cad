"""Choose the best hits of the ranking: near duplicates once, with their texts."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.retrievers.reports.ports import PassageText, ReportPorts
from querymill_workers.retrievers.reports.rules.duplicates import Unlike
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.joining import RankedHit
from querymill_workers.retrievers.reports.rules.pending import with_pending
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches

#: So many times the wanted hits are read at most, to fill the places of near duplicates.
READ_AT_MOST: Final = 4


def choose_hits(found: FoundByBranches, ports: ReportPorts) -> list[tuple[RankedHit, PassageText]]:
    """Return the best hits with their texts: as many as are returned, or as the judge reads.

    Where words do not rank, places are kept for passages without a vector.
    """
    request, ranking = found.request, found.ranking
    if request.ranking == "agreement" and not found.has_words and found.pending:
        known = {hit.key: hit for hit in ranking}
        fusion = [hit.fused for hit in ranking if hit.fused is not None]
        chosen = with_pending(fusion, found.pending, query=request.query, top_n=found.limit)
        ranking = [known.get(hit.key) or RankedHit(hit.key, hit.score, hit.passage) for hit in chosen]
    return distinct_hits(ranking, request, ports, count=found.limit)


def distinct_hits(
    ranking: Sequence[RankedHit], request: ReportSearch, ports: ReportPorts, *, count: int
) -> list[tuple[RankedHit, PassageText]]:
    """Return the first hits of a ranking with their texts.

    Of near duplicates only the first counts. A hit whose report has been replaced since is dropped.
    """
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
