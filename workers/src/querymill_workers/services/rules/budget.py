"""The passages that a prompt shows: under a label, and cut around what matched to a budget of tokens."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from querymill_shared.values import value
from querymill_workers.text.tokens import cut, estimate

#: A passage cut to fewer tokens seldom holds an answer; fewer passages are shown instead.
MIN_PASSAGE_TOKENS: Final = 100
#: Tokens that the marks of what was cut may take.
_MARKS: Final = 16
#: A line of what matched is looked for in its page by so many characters at most, and at least so many.
_MOST_LOOKED_FOR, _LEAST_LOOKED_FOR = 120, 8


@value
class PromptPassage:
    """A text to show. ``label`` says whose it is, and ``matched`` is the part that the search found, if it is known."""

    text: str
    label: str = ""
    matched: str = ""

    @property
    def tokens(self) -> int:
        """The tokens of the text under its label, by `estimate`."""
        return estimate(self.text) + estimate(self.label)


@value
class Fitted:
    """A passage as a prompt shows it, and whether it was cut."""

    text: str
    is_cut: bool


def fitted(passages: Sequence[PromptPassage], *, max_tokens: int) -> list[Fitted]:
    """Cut passages so that together they have at most ``max_tokens`` tokens, counted by `estimate`.

    Short passages stay whole. The long ones share the rest of the budget equally: with a budget of 600, passages of
    50, 400 and 400 tokens get 50, 275 and 275. If there is not room for `MIN_PASSAGE_TOKENS` of each, the last ones are
    left out.

    Args:
        passages: The passages, best first.
        max_tokens: The budget of all passages together, at least 1.
    """
    shown = passages[: max(max_tokens // MIN_PASSAGE_TOKENS, 1)]
    share = _share([passage.tokens for passage in shown], max_tokens)
    return [labelled(passage, max_tokens=share) for passage in shown]


def labelled(passage: PromptPassage, *, max_tokens: int) -> Fitted:
    """Put a passage under its label, and cut its text around what matched, to at most ``max_tokens`` tokens."""
    room = max(max_tokens - estimate(passage.label), 1)
    shown = around(passage.text, passage.matched, max_tokens=room)
    return Fitted(f"{passage.label}\n{shown}" if passage.label else shown, is_cut=shown != passage.text)


def around(text: str, matched: str, *, max_tokens: int) -> str:
    """Return the part of a text around what matched, with a mark for what was cut on either side.

    The part grows on both sides alike, and ends between lines where it can. For example, of a page whose last line
    matched, the end is left: "[7,412 characters cut]", and as many lines above the last as fit. If nothing is said to
    have matched, or the text does not have it, the beginning is left.
    """
    if estimate(text) <= max_tokens:
        return text
    start, end = place_of(matched, text)
    room = max_tokens - _MARKS
    if end == 0 or room < 1 or estimate(text[start:end]) > room:
        return cut(text[start:], max_tokens=max_tokens)
    wider = bisect_right(range(1, len(text)), room, key=lambda more: estimate(_window(text, start, end, more)))
    first, last = max(start - wider, 0), min(end + wider, len(text))
    if first > 0 and (line := text.find("\n", first, start)) >= 0:
        first = line + 1
    if last < len(text) and (line := text.rfind("\n", end, last)) >= 0:
        last = line
    before = f"[{first:,} characters cut]\n" if first > 0 else ""
    after = f"\n[{len(text) - last:,} characters cut]" if last < len(text) else ""
    return before + text[first:last] + after


def place_of(matched: str, text: str) -> tuple[int, int]:
    """Return where a text has what matched: from its first line to its last. (0, 0) if it has no line of it."""
    lines = [line.strip()[:_MOST_LOOKED_FOR] for line in matched.splitlines()]
    places = [
        (place, place + len(line))
        for line in lines
        if len(line) >= _LEAST_LOOKED_FOR and (place := text.find(line)) >= 0
    ]
    if not places:
        return 0, 0
    first = places[0][0]
    # A line that the page repeats further up is not a part of what matched.
    return first, max(end for place, end in places if first <= place <= first + 2 * len(matched))


def _window(text: str, start: int, end: int, more: int) -> str:
    return text[max(start - more, 0) : end + more]


def _share(needs: Sequence[int], budget: int) -> int:
    """Return how many tokens each of the longest texts may have, so that all together keep to the budget."""
    left = budget
    for count, need in zip(range(len(needs), 0, -1), sorted(needs), strict=True):
        if need * count > left:
            return left // count
        left -= need
    return budget
