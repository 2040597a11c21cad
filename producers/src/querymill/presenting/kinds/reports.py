"""A page, or a passage of one, of a report."""

from querymill.presenting.hit import HitView
from querymill.presenting.places import Place, PlaceSpan
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.reports.search import ReportHit, ReportResult


def view_of(hit: ReportHit, result: ReportResult) -> HitView:
    """Describe a hit."""
    return HitView(
        hit,
        f"{hit.title}, page {hit.page}",
        Place("reports", result.collection, hit.document, PlaceSpan(hit.page, hit.page)),
        part=f"#{'p' if hit.unit == 'page' else 'c'}{hit.number}",
        key=f"{hit.document}/{hit.unit}/{hit.number}",
        text=hit.text,
        facts=tuple(name for name in (hit.company, hit.period) if name),
        found_by=_steps(hit, result),
    )


def _steps(hit: ReportHit, result: ReportResult) -> tuple[str, ...]:
    """Name the steps that found it, instead of the texts that they searched."""
    step_of = {text: step for step, texts in result.expansion_texts.items() for text in texts}
    step_of[result.query] = ORIGINAL
    return tuple(dict.fromkeys(step_of.get(text, text) for text in hit.explanation.get("queries", {})))
