"""What a search of conversations looks like on a terminal."""

from collections.abc import Iterator

from rich.text import Text

from querymill.cli.screen import show_absence, show_degraded
from querymill.cli.screen_hits import joined_ranks, show_hits
from querymill.cli.terminal import Console
from querymill.presenting.hit import HitView
from querymill.presenting.numbers import laps
from querymill_shared.contracts.conversations.search import (
    ConversationHit,
    ConversationResult,
    Understanding,
    UnderstoodTime,
)


def show(console: Console, result: ConversationResult, *, limit: int | None = None) -> None:
    """Print how the query was understood, then the hits with what their scores are made of."""
    for line in _understood(result.understanding):
        console.print(Text(f"  {line}", "dim"))
    show_hits(console, result, limit=limit, heading=_heading, made_of=lambda hit: [_why(hit)])
    show_degraded(console, result.degraded)
    show_absence(console, result.why_not)
    took = laps(result.timing)
    console.print(Text(f"  {result.total} candidates in all · scored by {result.scoring} · {took}", "dim"))


def _understood(found: Understanding) -> Iterator[str]:
    yield f"understood: {found.intent}, importance {found.importance:g}, {found.mode}; searched: {found.searched}"
    if found.time is not None:
        yield f"only {_range(found.time)} ({found.time.phrase})"
    for correction in found.corrections:
        yield f"read {correction.written} as {correction.read_as}"
    for added in found.synonyms:
        yield f"also, at a lower weight, for {added.term}: {', '.join(added.synonyms)}"


def _range(time: UnderstoodTime) -> str:
    start = "" if time.start is None else f"from {time.start:%Y-%m-%d %H:%M} "
    return f"{start}{'' if time.end is None else f'until {time.end:%Y-%m-%d %H:%M} '}UTC"


def _heading(view: HitView) -> Text:
    hit: ConversationHit = view.hit
    why = hit.placed_by if hit.placed_for is None else f"{hit.placed_by}: {hit.placed_for}"
    return Text(view.title).append(f"  {hit.last_active:%Y-%m-%d}  {why}", "dim")


def _why(hit: ConversationHit) -> str:
    made_of = _factors(hit) if "joined" not in hit.explanation else _joined(hit)
    where = "" if hit.message_number is None else f" · message {hit.message_number}"
    when = "" if hit.message_at is None else f" of {hit.message_at:%Y-%m-%d %H:%M} UTC"
    return f"{hit.score:.4f} = {made_of}{where}{when}"


def _factors(hit: ConversationHit) -> str:
    return " × ".join(f"{value:.3f} {name}" for name, value in hit.explanation["factors"].items())


def _joined(hit: ConversationHit) -> str:
    joined = hit.explanation["joined"]
    ranks = [(channel, joined["weights"][channel], rank) for channel, rank in joined["ranks"].items()]
    by_words = f" · {joined['words']:.4f} by words = {_factors(hit)}" if "words" in joined else ""
    near = f" · cosine {joined['cosine']:.3f}" if "cosine" in joined else ""
    return joined_ranks(ranks, joined["k"]) + by_words + near
