"""What a search of reports looks like on a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from querymill.cli.screen import show_absence, show_degraded
from querymill.cli.screen_answers import show_answer
from querymill.cli.screen_hits import joined_ranks, show_hits
from querymill.cli.terminal import Console
from querymill.costs import cost_of
from querymill.presenting.numbers import laps, quantity
from querymill_shared.contracts.reports.search import ReportHit, ReportResult


def show(console: Console, result: ReportResult, *, limit: int | None = None) -> None:
    """Print the hits with what their scores are made of, then how the search went."""
    if result.answer is not None:
        show_answer(console, result.answer)
    show_hits(console, result, limit=limit, made_of=lambda hit: [_why(hit)])
    console.print(Text(f"  searched: {result.routing.reason}", style="dim"))
    for term, stated in result.terms.items():
        console.print(Text(f"  {term}: searched by {stated}, too", style="dim"))
    show_degraded(console, result.degraded)
    show_absence(console, result.why_not)
    timing = laps(result.timing)
    usage = ", ".join(quantity(count, name.replace("_", " ")) for name, count in result.usage.items())
    cost = f" · {cost_of(result.costs).money}" if result.costs else ""
    console.print(Text(f"  {result.total} hits in all · {timing} · {usage}{cost}", style="dim"))


def _why(hit: ReportHit) -> str:
    why = hit.explanation
    if "rerank" in why:
        return _reranked(hit)
    if "words_rank" in why:
        return _joined(hit)
    found = f"{why['count']} of the queries found it" if why["count"] > 1 else "one query found it"
    return f"{hit.score:.4f} = {_product(why)}   ({found}: {'; '.join(_beginning(q) for q in why['queries'])})"


def _reranked(hit: ReportHit) -> str:
    own = hit.explanation["rerank"]
    if hit.relevance is None:
        return f"not judged: below the judged hits, in its order before (rank {own['rank']})"
    return f"{hit.score:.4f} = {own['formula']}: relevance {hit.relevance:g}, similarity {own['similarity']:.4f}"


def _joined(hit: ReportHit) -> str:
    why = hit.explanation
    channels = [name for name in ("words", "vectors") if why[f"{name}_rank"] is not None]
    ranks = [(name, why[f"{name}_weight"], why[f"{name}_rank"]) for name in channels]
    similar = f", similarity {hit.similarity:.3f}" if "vectors" in channels else ""
    return f"{hit.score:.4f} = {joined_ranks(ranks, why['k'])}{similar}"


def _product(why: Mapping[str, Any]) -> str:
    factors = [f"{why['max_inner_product']:.4f} similarity"]
    if why["inner_factor"] != 1:
        factors.insert(0, f"{why['inner_factor']:g}")
    if why["agreement_factor"] != 1:
        factors.append(f"(1 + {why['agreement']:g} × {why['count'] - 1})")
    return " × ".join(factors)


def _beginning(query: str) -> str:
    return " ".join(query.split())[:60]
