"""What a search of messages looks like on a terminal."""

from rich.text import Text

from querymill.cli.screen import show_absence, show_degraded
from querymill.cli.screen_hits import show_hits
from querymill.cli.terminal import Console
from querymill.presenting.hit import HitView
from querymill.presenting.numbers import laps
from querymill_shared.contracts.messages.search import MessageHit, MessageResult


def show(console: Console, result: MessageResult, *, limit: int | None = None) -> None:
    """Print the hits with what their similarity is made of, then how the search went."""
    show_hits(
        console,
        result,
        limit=limit,
        heading=_heading,
        score=lambda hit: f"{hit.similarity:.3f}",
        made_of=lambda hit: [_why(hit)],
        none=f"no hits{_nearest(result)}",
    )
    how = result.mode if result.searched is None else f"{result.mode}, {result.searched}"
    why = f" ({result.why})" if result.why else ""
    skipped = f" · {result.skipped} messages without a vector of this model" if result.skipped else ""
    least = "" if result.total_is_exact else "at least "
    took = laps(result.timing)
    show_degraded(console, [part for part in result.degraded if part.reason != result.why])
    show_absence(console, result.why_not)
    console.print(Text(f"  searched: {how}{why}{skipped}", "dim"))
    console.print(Text(f"  {least}{result.total} hits in all · {took}", "dim"))


def _heading(view: HitView) -> Text:
    hit: MessageHit = view.hit
    number = "" if hit.message_number is None else f"message {hit.message_number}"
    said = (view.title, hit.message_role, number, f"{hit.created_at:%Y-%m-%d %H:%M} UTC")
    place = " · ".join(part for part in said if part)
    return Text(f"{hit.band}  {place}").append("  must use" if hit.must_use else "", "bold yellow")


def _why(hit: MessageHit) -> str:
    found = " and ".join(hit.found_by)
    if hit.raw_similarity is None:
        return f"score {hit.score:.4f}, found by {found}; no vector was compared"
    return f"score {hit.score:.4f}, found by {found}; cosine {hit.raw_similarity:.4f}"


def _nearest(result: MessageResult) -> str:
    best = result.best_below_threshold
    return "" if best is None else f": the best similarity was {best:.3f}, the threshold {result.similarity_threshold}"
