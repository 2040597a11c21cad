"""The best hits as the result has them, with every number that their scores are made of, and as prompts show them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from querymill_shared.contracts.reports.search import ReportHit, ReportSearch
from querymill_workers.retrievers.reports.ports import PassageText, ReportPorts
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.joining import RankedHit, explain_ranked
from querymill_workers.retrievers.reports.rules.pending import PendingHit, explain_pending
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches
from querymill_workers.services.writing import CitableHit


class ShownHit(NamedTuple):
    """A hit of the ranking, and as the result has it."""

    ranked: RankedHit
    shown: ReportHit


def show_hits(best: Iterable[tuple[RankedHit, PassageText]], found: FoundByBranches) -> list[ShownHit]:
    """Return hits as the result has them."""
    pending = {hit.key: hit for hit in found.pending}
    return [ShownHit(hit, show_hit(hit, text, pending.get(hit.key), found.request)) for hit, text in best]


def show_hit(hit: RankedHit, text: PassageText, pending: PendingHit | None, request: ReportSearch) -> ReportHit:
    """Return a hit with every number that its score is made of. ``pending``: what words found without a vector."""
    explanation: dict[str, Any]
    if hit.fused is None and hit.by_words is None and pending is not None:
        explanation = explain_pending(pending, query=request.query)
    else:
        explanation = explain_ranked(hit, inner_factor=request.inner_factor)
    return ReportHit(
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
        explanation=explanation,
        metadata=text.metadata if request.shows_metadata else None,
    )


def show_to_model(hits: Iterable[ShownHit], request: ReportSearch, ports: ReportPorts) -> list[CitableHit]:
    """Return hits as prompts show them: under title, company, period and page, and cut around what matched."""
    by_key = {hit.ranked.key: hit for hit in hits}
    chunks = {
        key: HitKey(key.document, "chunk", hit.ranked.passage) for key, hit in by_key.items() if key.unit == "page"
    }
    texts = ports.reports.texts(request.collection, list(chunks.values())) if chunks else {}
    matched = {key: texts[chunk].text for key, chunk in chunks.items() if chunk in texts}
    return [citable(key, hit.shown, matched.get(key, "")) for key, hit in by_key.items()]


def citable(key: HitKey, hit: ReportHit, matched: str) -> CitableHit:
    """Return a hit as a prompt shows it. Its label has its title, company and period once each, and its page."""
    whose = [part for part in (hit.title, hit.company, hit.period) if part]
    label = ", ".join([*dict.fromkeys(whose), f"page {hit.page}"])
    return CitableHit(key.encoded(), hit.text, hit.page, hit.title, label=label, matched=matched)
