"""What a search of messages looks like on a terminal."""

from rich.text import Text

from querymill.cli.screen import show_absence, written_in
from querymill.cli.screen_hits import marked, show_hit
from querymill.cli.terminal import Console
from querymill.presenting.excerpts import excerpt
from querymill.presenting.numbers import laps
from querymill_shared.contracts.messages.search import MessageHit, MessageResult


def show(console: Console, result: MessageResult, *, limit: int | None = None) -> None:
    """Print the hits with what their similarity is made of, then how the search went."""
    for rank, hit in enumerate(result.results[:limit], start=1):
        number = "" if hit.message_number is None else f"message {hit.message_number}"
        when = f"{hit.created_at:%Y-%m-%d %H:%M} UTC"
        said = (hit.session_name or hit.session_id, hit.message_role, number, when)
        place = " · ".join(part for part in said if part)
        heading = Text(f"{hit.band}  {place}").append("  must use" if hit.must_use else "", "bold yellow")
        content = excerpt(hit.content, result.query)
        show_hit(
            console,
            rank,
            f"{hit.similarity:.3f}",
            heading,
            says=marked(content.text, content.marks),
            made_of=[_why(hit)],
            written_in=written_in(hit.source, hit.line),
        )
    if not result.results:
        console.print(f"  no hits{_nearest(result)}", style="yellow")
    how = result.mode if result.searched is None else f"{result.mode}, {result.searched}"
    why = f" ({result.why})" if result.why else ""
    skipped = f" · {result.skipped} messages without a vector of this model" if result.skipped else ""
    least = "" if result.total_is_exact else "at least "
    took = laps(result.timing)
    show_absence(console, result.why_not)
    console.print(Text(f"  searched: {how}{why}{skipped}", "dim"))
    console.print(Text(f"  {least}{result.total} hits in all · {took}", "dim"))


def _why(hit: MessageHit) -> str:
    found = " and ".join(hit.found_by)
    if hit.raw_similarity is None:
        return f"score {hit.score:.4f}, found by {found}; no vector was compared"
    return f"score {hit.score:.4f}, found by {found}; cosine {hit.raw_similarity:.4f}"


def _nearest(result: MessageResult) -> str:
    best = result.best_below_threshold
    return "" if best is None else f": the best similarity was {best:.3f}, the threshold {result.similarity_threshold}"
