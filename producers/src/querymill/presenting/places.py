"""Where a text is stored, written as one id: ``reports:filings/ab12#p42``.

A search prints the id, a reader takes it, and the link of the console shows the same place.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self, get_args
from urllib.parse import quote, unquote, urlencode

from querymill_shared.contracts.filters import Retriever

KINDS: Final[tuple[Retriever, ...]] = get_args(Retriever)
#: The letter of a part: pages, messages and lines, all numbered from 1 but pages, which have their own numbers.
LETTERS: Final[Mapping[Retriever, str]] = {
    "reports": "p",
    "messages": "m",
    "conversations": "m",
    "modules": "L",
    "files": "L",
}
_WRITTEN: Final = re.compile(
    rf"(?P<kind>{'|'.join(KINDS)}):(?P<collection>[A-Za-z0-9][A-Za-z0-9._-]{{0,63}})/(?P<document>[^#\s]+)"
    r"(?:#(?:(?P<letter>[pmL])(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?|m=(?P<message>\S+)))?"
)
#: The name of the parameter by which the console's reader finds a part.
_PARAMETERS: Final = {"p": "page", "m": "message", "L": "line"}


@dataclass(frozen=True, slots=True)
class PlaceSpan:
    """Pages, messages or lines by their numbers; ``last`` is included."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Place:
    """A document, or a part of one: a span of its parts, or a message by its own id."""

    kind: Retriever
    collection: str
    document: str
    span: PlaceSpan | None = None
    message: str | None = None

    def __str__(self) -> str:
        whole = f"{self.kind}:{self.collection}/{_escaped(self.document)}"
        if self.message is not None:
            return f"{whole}#m={_escaped(self.message)}"
        return whole if self.span is None else f"{whole}#{LETTERS[self.kind]}{self.span}"

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read an id.

        Raises:
            ValueError: It is none.
        """
        found = _WRITTEN.fullmatch(written.strip())
        if found is None:
            raise ValueError("an id reads kind:collection/document#part, such as reports:filings/ab12#p42")
        kind: Retriever = next(kind for kind in KINDS if kind == found["kind"])
        if found["letter"] is not None and found["letter"] != LETTERS[kind]:
            raise ValueError(
                f"a part of {kind} is written #{LETTERS[kind]}, such as #{LETTERS[kind]}3 or #{LETTERS[kind]}3-5"
            )
        span = None
        if found["first"] is not None:
            span = PlaceSpan(int(found["first"]), int(found["last"] or found["first"]))
        message = None if found["message"] is None else _plain(found["message"])
        return cls(kind, found["collection"], _plain(found["document"]), span, message)

    @property
    def link(self) -> str:
        """The path of the place in the console's reader."""
        path = f"/console/collections/{self.collection}/{self.kind}/{quote(self.document, errors='surrogatepass')}"
        if self.message is not None:
            return f"{path}?{urlencode({'message': self.message}, errors='surrogatepass')}"
        return path if self.span is None else f"{path}?{_PARAMETERS[LETTERS[self.kind]]}={self.span.first}"


def _escaped(text: str) -> str:
    """Return a text without what would end or hide an id: blanks, ``#`` and what cannot be seen."""
    return "".join(
        quote(character, safe="", errors="surrogatepass")
        if character in '%#"`<>' or character == " " or not character.isprintable()
        else character
        for character in text
    )


def _plain(written: str) -> str:
    return unquote(written, errors="surrogatepass")
