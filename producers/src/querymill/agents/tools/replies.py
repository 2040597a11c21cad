"""A reply that keeps to its budget: all title lines first, then passages by rank until the budget is used."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from querymill.agents.budget import bound, fits
from querymill.agents.found import FoundHit
from querymill.agents.stored_text import clean, clean_line, fence, introduction

#: The fewest tokens that a caller can ask for, and the fewest that are worth showing of a passage.
LEAST_TOKENS, LEAST_PASSAGE = 200, 12
#: Characters that so many tokens can hold at most: no more of a text is looked at.
_CHARS_PER_TOKEN: Final = 12
#: Tokens of a reply.
Budget = Annotated[int, Field(ge=LEAST_TOKENS, le=8_000)]
#: A line of a reply, made when it is known how many entries are shown.
Said = Callable[[int], str]
#: Characters of a title. Ids are never cut.
_TITLE_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class ReplyEntry:
    """A numbered line, and the stored text below it."""

    line: str
    text: str = ""


def entry_of(number: int, hit: FoundHit, link: str) -> ReplyEntry:
    """Return what is shown of a hit."""
    title = clean_line(hit.title)[:_TITLE_CHARS]
    parts = [f"[{number}] {title}", f"id {hit.place}", f"score {hit.score:.3g}", *([link] if link else [])]
    return ReplyEntry(" · ".join(parts), hit.text)


def compose(head: Said, entries: Sequence[ReplyEntry], *, foot: Said, max_tokens: int) -> str:
    """Put together a reply of at most ``max_tokens``. ``head`` and ``foot`` get the number of entries shown.

    A passage gets at most half of what is left, unless it is the last one, so that a long one leaves room for others.
    """
    texts = [clean(entry.text[: max_tokens * _CHARS_PER_TOKEN]).strip() for entry in entries]
    mark = fence([*texts, *(entry.line for entry in entries)])
    shown = len(entries)

    def written(passages: Sequence[str]) -> str:
        lines = [head(shown), *([introduction(mark)] if any(passages) else [])]
        for entry, passage in zip(entries[:shown], passages, strict=True):
            lines += [entry.line, *([f"{mark} {passage} {mark}"] if passage else [])]
        return "\n".join(line for line in (*lines, foot(shown)) if line)

    while shown and bound(written([""] * shown)) > max_tokens:
        shown -= 1
    passages = [""] * shown
    for place in range(shown):
        with_marks = [*passages[:place], " ", *passages[place + 1 :]]
        left = max_tokens - bound(written(with_marks))
        share = left if place == shown - 1 else left // 2
        least = min(LEAST_PASSAGE, bound(texts[place]))
        for room in range(share, least - 1, -1):
            passages[place] = fits(texts[place], max_tokens=room)
            if bound(written(passages)) <= max_tokens:
                break
            passages[place] = ""
    return fits(written(passages), max_tokens=max_tokens)
