"""The passages of a session that vectors are of: neighbouring whole messages of about 400 characters together.

They are shorter than the passages that are scored by words (``passages.py``): a vector of a long text says little of
any part of it. A live message changes at most the last one, so that only what is new is embedded.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from querymill_shared.values import value
from querymill_workers.text.passages import split_text

#: The most characters of a passage.
EMBEDDED_CHARS: Final = 400


@value
class SpokenText:
    """A message: its place in the session, from 0, its key there, its text, and its time."""

    place: int
    key: str
    text: str
    at: datetime


@value
class EmbeddedPassage:
    """A passage that has vectors.

    ``number`` is its place among the passages of its session, from 0. ``place`` and ``message`` are the place and the
    key of its first message, and ``start`` is where it begins in that message. Its messages are from ``first_at`` to
    ``last_at``.
    """

    number: int
    place: int
    message: str
    start: int
    text: str
    first_at: datetime
    last_at: datetime

    @property
    def key(self) -> str:
        """The hash of the text and of where it begins: a passage that stays as it is keeps its vectors."""
        shaped = f"{self.message}\n{self.start}\n{self.text}"
        return hashlib.sha256(shaped.encode()).hexdigest()[:32]


def cut_passages(messages: Iterable[SpokenText], *, after: EmbeddedPassage | None = None) -> list[EmbeddedPassage]:
    """Cut messages into passages: whole neighbours as long as they fit, and a longer message into pieces.

    Worked example: messages of 150, 200, 100 and 900 characters give a passage of the first two (351 with the line
    break between them), one of the third, and pieces of the last, of at most 400 characters each. A message never joins
    a piece that is not the first of its message. Blank texts are in no passage.

    Args:
        messages: The messages in their order.
        after: The last passage of the messages before them. It comes again, with what joins it. So the passages of a
            session are the same whether its messages come at once or one by one.
    """
    passages = [] if after is None else [after]
    for piece in _pieces(messages):
        last = passages[-1] if passages else None
        if last is not None and _takes(last, piece):
            passages[-1] = replace(
                last,
                text=f"{last.text}\n{piece.text}",
                first_at=min(last.first_at, piece.first_at),
                last_at=max(last.last_at, piece.last_at),
            )
        else:
            passages.append(replace(piece, number=0 if last is None else last.number + 1))
    return passages


def _takes(last: EmbeddedPassage, piece: EmbeddedPassage) -> bool:
    if last.start > 0 or piece.start > 0:
        return False
    return len(last.text) + 1 + len(piece.text) <= EMBEDDED_CHARS


def _pieces(messages: Iterable[SpokenText]) -> Iterator[EmbeddedPassage]:
    """Yield each message as a passage of its own, or as several if it is too long for one."""
    for message in messages:
        for span in split_text(message.text, max_tokens=EMBEDDED_CHARS, estimate=len):
            text = message.text[span.start : span.end]
            if text.strip():
                yield EmbeddedPassage(0, message.place, message.key, span.start, text, message.at, message.at)
