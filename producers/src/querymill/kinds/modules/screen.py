"""What a search of modules looks like on a terminal."""

from typing import Any

from rich.text import Text

from querymill.cli.screen import show_absence, show_degraded
from querymill.cli.terminal import Console
from querymill.telling.numbers import laps
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult


def show(console: Console, result: ModuleResult, *, limit: int | None = None) -> None:
    """Print the hits with what their scores are made of, then how the search went."""
    hits = result.results[:limit]
    for rank, hit in enumerate(hits, start=1):
        console.print(Text.assemble((f"{rank:>2}", "bold"), (f"  {hit.score:.4f}  ", "green"), hit.file_path))
        for line in _why(hit):
            console.print(Text(f"      {line}", style="dim"), no_wrap=True, overflow="ellipsis")
        console.print(
            Text(f"      {' '.join(hit.description.split())[:200]}"), no_wrap=True, overflow="ellipsis", soft_wrap=False
        )
    if not result.results:
        console.print("  no hits", style="yellow")
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
        parts = [f"{weights[name]:g}/({k} + {place['rank']:g}) {name}" for name, place in hit.channels.items()]
        lines.append(f"{hit.score:.4f} = {' + '.join(parts)}")
    found = [part for part in hit.match_explanation if part["hits"]]
    if found:
        counted = " + ".join(f"{part['hits']} × {part['normalized_weight']:.3f}" for part in found)
        lines.append(f"modules: {hit.channels['modules']['score']:.3f} = {counted}   ({'; '.join(map(_names, found))})")
    return lines


def _names(part: dict[str, Any]) -> str:
    return ", ".join(f"{module['module']} as {module['name'].rpartition('.')[2]}" for module in part["modules"])
