"""What a search of modules looks like on a terminal."""

from typing import Any

from rich.text import Text

from querymill.cli.screen import show_absence, show_degraded
from querymill.cli.screen_hits import joined_ranks, show_hits
from querymill.cli.terminal import Console
from querymill.presenting.numbers import laps
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult


def show(console: Console, result: ModuleResult, *, limit: int | None = None) -> None:
    """Print the hits with what their scores are made of, then how the search went."""
    show_hits(console, result, limit=limit, made_of=_why)
    for name in result.unknown_modules:
        console.print(Text(f"  no document uses {name}", style="yellow"))
    for part in result.raw_history:
        asked = ", ".join(f"{module.module} ({module.rule}: {module.text})" for module in part.modules) or "no modules"
        console.print(Text(f"  asked: {' '.join(part.description.split())[:60]} → {asked}", style="dim"))
    show_degraded(console, result.degraded)
    show_absence(console, result.why_not)
    timing = laps(result.timing)
    console.print(Text(f"  {result.total} documents in all · {timing}", style="dim"))


def _why(hit: ModuleDocumentHit) -> list[str]:
    """Show every number that the score is computed from."""
    lines = []
    if "k" in hit.explanation:
        k, weights = hit.explanation["k"], hit.explanation["weights"]
        ranks = [(name, weights[name], place["rank"]) for name, place in hit.channels.items()]
        lines.append(f"{hit.score:.4f} = {joined_ranks(ranks, k)}")
    found = [part for part in hit.match_explanation if part["hits"]]
    if found:
        counted = " + ".join(f"{part['hits']} × {part['normalized_weight']:.3f}" for part in found)
        lines.append(f"modules: {hit.channels['modules']['score']:.3f} = {counted}   ({'; '.join(map(_names, found))})")
    return lines


def _names(part: dict[str, Any]) -> str:
    return ", ".join(f"{module['module']} as {module['name'].rpartition('.')[2]}" for module in part["modules"])
