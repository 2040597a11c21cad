"""Normalise queries, drop duplicates, and read the queries that a chat model wrapped in angle brackets."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from querymill_workers.text.reasoning import without_reasoning

_MAX_REPLY_CHARS: Final = 1_000_000
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs"})
_BRACKETS: Final = str.maketrans("＜＞", "<>")
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
    """Return a text in its normal form: Unicode NFKC, single blanks, no invisible characters.

    Control characters, zero-width characters and lone surrogates are dropped without a blank. Line ends and tabs
    are white space. Normalising twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    composed = unicodedata.normalize("NFKC", _visible(text))
    return " ".join(composed.split())


def distinct(original: str, proposed: Iterable[str]) -> list[str]:
    """Return the queries to search: the original unchanged, then each new proposed query, normalised.

    Queries are the same if their normal forms are, ignoring case. Empty proposals are dropped. The original always
    comes first, even if it is empty.
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
    """Return the queries that a chat model wrapped in ``<…>`` or ``＜…＞``, normalised, in order.

    Some wrapped texts are not queries: thinking (``<think>…</think>``), tags (of HTML, and any name that the reply
    also closes), texts without a letter or digit, texts with a line end, and repetitions. A text longer than
    ``max_chars`` is dropped as a mistake of the model. The first million characters of the reply are read, in linear
    time.

    Args:
        reply: The reply of the chat model.
        limit: The largest number of queries to return.
        max_chars: The largest number of characters of a query.

    Returns:
        The queries, or an empty list if the reply holds none.
    """
    answer = without_reasoning(reply[:_MAX_REPLY_CHARS].translate(_BRACKETS))
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


def _enclosed(answer: str, *, max_chars: int) -> Iterator[str]:
    """Yield each text between a ``<`` and the next ``>``, innermost and within one line."""
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
