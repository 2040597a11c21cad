"""How an iterative search looks on a terminal: its rounds as they end, then the files."""

from collections.abc import Iterable

from rich.text import Text

from querymill.cli.screen import show_absence, show_degraded
from querymill.cli.terminal import Console
from querymill_shared.contracts.events import Event, SearchRound
from querymill_shared.contracts.files.search import FileHit, FileResult

#: Names and files shown of a round.
_SHOWN = 5


def follow(console: Console, title: str, events: Iterable[Event]) -> None:
    """Print each round as it ends: what it asked, how its files fell into the bands, and what is missing."""
    console.print(Text(title, style="bold"))
    for event in events:
        if isinstance(event, SearchRound):
            show_round(console, event)


def show_round(console: Console, ended: SearchRound) -> None:
    """Print one round."""
    bands = ", ".join(f"{count} {name}" for name, count in ended.bands.items())
    console.print(
        Text.assemble((f"  round {ended.round}  ", "cyan"), f"{ended.evaluated} files: {bands}"), highlight=False
    )
    _dim(console, f"     asked: {_some(ended.queries)}")
    for file in ended.files[:_SHOWN]:
        console.print(Text(f"     {file.score:.2f}  {file.key}"), highlight=False)
    if ended.gaps:
        _dim(console, f"     used there and not found yet: {_some(ended.gaps)}")
    if ended.stop is not None:
        _dim(console, f"     stop: {ended.stop}")


def show(console: Console, result: FileResult, *, limit: int | None = None) -> None:
    """Print the files with what speaks for them, then what the search cost."""
    hits = result.results[:limit]
    for rank, hit in enumerate(hits, start=1):
        score = f"{hit.score:.4f}" if result.mode == "oneshot" else f"{hit.relevance:.2f}"
        console.print(Text.assemble((f"{rank:>2}", "bold"), (f"  {score} {hit.band:<6} ", "green"), hit.path))
        kind = "" if hit.kind == "code" else f"[{hit.kind}] "
        _dim(console, f"      {kind}{hit.why}   ({_origin(hit)})")
    if not result.results:
        console.print("  no files", style="yellow")
    if len(result.results) > len(hits):
        _dim(console, f"  … and {len(result.results) - len(hits)} more")
    show_degraded(console, result.degraded)
    show_absence(console, result.why_not)
    cost = result.token_account
    _dim(
        console,
        f"  {len(result.rounds)} rounds ({result.stop}), {result.files_read} files read, each once; "
        f"{cost.spent:,} tokens returned, {cost.grep + cost.top_files:,} to grep and read the best files",
    )
    if result.context_files:
        _dim(console, f"  context of {cost.context:,} tokens, ready to paste: {_some(result.context_files)}")


def _origin(hit: FileHit) -> str:
    lines = ", ".join(f"{part.first}–{part.last}" for part in hit.excerpt)
    found = f"round {hit.round}, by {_some(hit.found_by)}"
    if hit.cells:
        return f"{found}; cells {', '.join(map(str, hit.cells))}"
    return f"{found}; lines {lines}" if lines else found


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def _dim(console: Console, line: str) -> None:
    console.print(Text(line, style="dim"), no_wrap=True, overflow="ellipsis")
