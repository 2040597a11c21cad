"""What a search of any kind found, as agents get it: a place, a title, a score and a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from querymill.presenting.hit import HitView, views_of
from querymill.presenting.places import Place
from querymill_shared.contracts.search import AnySearchResult

#: Messages on either side of the one that was found, which an answer is shown with it.
NEIGHBOURS = 2


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit. ``title`` says what it is and where in it. ``text`` is "" where the result does not hold it."""

    place: Place
    title: str
    score: float
    text: str


def found_in(result: AnySearchResult) -> tuple[FoundHit, ...]:
    """Return the hits of a result that can be read somewhere, best first."""
    return tuple(found for view in views_of(result) if (found := found_of(view)) is not None)


def found_of(view: HitView) -> FoundHit | None:
    """Return a hit, None if it can be read nowhere."""
    if view.place is None or view.score is None:
        return None
    return FoundHit(view.place, view.cited, view.score, view.text)


def lacks_text(found: FoundHit) -> bool:
    """Whether the text of a hit must be read from its document: a search of files returns places only."""
    return not found.text.strip()


def with_text(found: FoundHit, document: Mapping[str, Any]) -> FoundHit:
    """Return a hit with its text from its document: the lines of a file, a message of a session and its neighbours."""
    span = found.place.span
    if found.place.kind == "files":
        lines = str(document.get("content", "")).splitlines()
        first, last = (1, len(lines)) if span is None else (span.first, span.last)
        return replace(found, text="\n".join(lines[first - 1 : last]))
    if found.place.kind == "conversations" and span is not None:
        return replace(found, text=_around(document.get("messages", ()), span.first) or found.text)
    return found


def _around(messages: Sequence[Mapping[str, Any]], number: int) -> str:
    near = messages[max(number - 1 - NEIGHBOURS, 0) : number + NEIGHBOURS]
    return "\n".join(f"{message.get('role') or 'message'}: {message.get('text', '')}" for message in near)
