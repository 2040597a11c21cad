"""Queries as text: one normal form, no two alike, and the ones an LLM wrapped in angle brackets."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

_MAX_REPLY_CHARS: Final = 1_000_000
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs"})
_BRACKETS: Final = str.maketrans("＜＞", "<>")
_THINKING: Final = re.compile("<(/?)think(?:ing)?>", re.IGNORECASE | re.ASCII)
_CLOSED: Final = re.compile("</([A-Za-z][A-Za-z0-9_-]{0,40})>")
_TAG: Final = re.compile("([A-Za-z][A-Za-z0-9_-]{0,40})(?: [A-Za-z-]{1,40} ?=.*| ?/)?", re.DOTALL)
_HTML: Final = frozenset(
    re.findall(
        "[a-z0-9]+",
        "a b body br center code div em font h1 h2 h3 h4 h5 h6 head hr html i img li ol p pre s section small"
        " span strong sub sup table tbody td tfoot th thead title tr u ul",
    )
)


def normalise(text: str) -> str:
    """Put a text in its normal form: Unicode NFKC, single blanks, nothing a reader cannot see.

    Control and zero-width characters and lone surrogates are dropped, not turned into blanks; line ends and
    tabs are white space. Normalising twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    composed = unicodedata.normalize("NFKC", _visible(text))
    return " ".join(composed.split())


def distinct(original: str, proposed: Iterable[str]) -> list[str]:
    """List the queries to search: the original as it was asked, then the new ones, normalised.

    Two queries are the same when their normal forms are, ignoring case; an empty one is none. The original
    always stays, first, even when it is empty.
    """
    seen = {"", _alike(original)}
    queries = [original]
    for query in map(normalise, proposed):
        key = _alike(query)
        if key not in seen:
            seen.add(key)
            queries.append(query)
    return queries


def wrapped(reply: str, *, limit: int = 5, max_chars: int = 500) -> list[str]:
    """Extract the queries an LLM wrapped in ``<…>`` or ``＜…＞``, normalised, in their order.

    Not queries: thinking (``<think>…</think>``), tags (HTML's, and any name that the reply also closes), what
    holds no letter or digit, what runs over a line end, and repetitions. A text longer than ``max_chars`` is
    taken for a slip of the model and left out, not cut. Linear in the reply, of which the first million
    characters are read.

    Args:
        reply: What the LLM wrote.
        limit: How many queries to return at most.
        max_chars: Characters a query may have.

    Returns:
        The queries; none when nothing is wrapped (a failed branch, never a crash).
    """
    answer = _without_thinking(reply[:_MAX_REPLY_CHARS].translate(_BRACKETS))
    closed = {name.lower() for name in _CLOSED.findall(answer)}
    queries: dict[str, str] = {}
    for content in _enclosed(answer, max_chars=max_chars):
        if len(queries) >= limit:
            break
        query = normalise(content)
        if _is_query(query, max_chars=max_chars, tags=_HTML | closed):
            queries.setdefault(_alike(query), query)
    return list(queries.values())


def _alike(query: str) -> str:
    return normalise(query).casefold()


def _visible(text: str) -> str:
    return "".join(
        character for character in text if character.isspace() or unicodedata.category(character) not in _UNSEEN
    )


def _without_thinking(reply: str) -> str:
    """Drop what is between thinking tags, before an end that has no beginning, and after a lone beginning."""
    kept: list[str] = []
    position, thinking, opened = 0, False, False
    for tag in _THINKING.finditer(reply):
        closing = tag.group(1) == "/"
        if not thinking and (opened or not closing):
            kept.append(reply[position : tag.start()])
        position, thinking, opened = tag.end(), not closing, True
    return "".join(kept) if thinking else "".join([*kept, reply[position:]])


def _enclosed(answer: str, *, max_chars: int) -> Iterator[str]:
    """Yield what stands between a ``<`` and the next ``>``, innermost, within one line."""
    room = 4 * max_chars
    for piece in answer.split("<")[1:]:
        end = piece.find(">", 0, room)
        if end > 0 and "\n" not in piece[:end]:
            yield piece[:end]


def _is_query(text: str, *, max_chars: int, tags: frozenset[str]) -> bool:
    if len(text) > max_chars or not any(character.isalnum() for character in text):
        return False
    if text[0] in "/!?":
        return False
    tag = _TAG.fullmatch(text)
    return tag is None or tag.group(1).lower() not in tags
