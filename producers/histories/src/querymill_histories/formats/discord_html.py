"""Discord: a channel as DiscordChatExporter writes it as a web page. The ids of messages tell their times."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from querymill_histories.compressed import open_plain
from querymill_histories.session import Head, HistoryMessage

#: Since then Discord counts milliseconds; an id holds them above its lower bits.
_EPOCH: Final = datetime(2015, 1, 1, tzinfo=UTC)
_LOWER_BITS: Final = 22
_VOID: Final = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])
_AUTHOR: Final = frozenset(["chatlog__author", "chatlog__author-name"])
_TEXT, _EDITED, _NAME = "chatlog__content", "chatlog__edited-timestamp", "preamble__entry"
#: Characters that are parsed at a time.
_CHUNK: Final = 1 << 20


def is_html(head: Head) -> bool:
    """Return whether a file begins as the exporter's pages do."""
    return head.packed[:14].lower() == "<!doctypehtml>" and "chatlog__" in head.text


def time_of(id_: str) -> datetime | None:
    """Return when a message was sent, which its id tells."""
    if not id_.isdigit() or int(id_).bit_length() > 64:
        return None
    return _EPOCH + timedelta(milliseconds=int(id_) >> _LOWER_BITS)


@dataclass(slots=True)
class _Held:
    """What is being gathered: of what, how deep its element is, and the pieces of its text."""

    of: str
    depth: int
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text."""
        return "".join(self.pieces).strip()


class DiscordPage(HTMLParser):
    """Gathers the messages of a page, and the names above them: those of the server and of the channel."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.said: list[HistoryMessage] = []
        self._depth = 0
        self._held: _Held | None = None
        self._left_out = 0
        self._author, self._id = "unknown", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a message, an author or a text begins."""
        given = {name: value or "" for name, value in attrs}
        if tag in _VOID:
            self._add("\n" if tag == "br" else given.get("alt", "") if tag == "img" else "")
            return
        self._depth += 1
        classes = set(given.get("class", "").split())
        self._id = given.get("data-message-id") or self._id
        if self._held is not None:
            if _EDITED in classes and not self._left_out:
                self._left_out = self._depth
        elif classes & _AUTHOR:
            self._held = _Held("author", self._depth)
        elif _TEXT in classes:
            self._held = _Held("text", self._depth)
        elif _NAME in classes:
            self._held = _Held("name", self._depth)

    def handle_endtag(self, tag: str) -> None:
        """Note where one ends."""
        if tag in _VOID:
            return
        if self._held is not None and self._held.depth == self._depth:
            self._end(self._held)
            self._held = None
        if self._left_out == self._depth:
            self._left_out = 0
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        """Gather text."""
        self._add(data)

    def _add(self, text: str) -> None:
        if self._held is not None and not self._left_out:
            self._held.pieces.append(text)

    def _end(self, held: _Held) -> None:
        match held.of:
            case "author":
                self._author = held.text or "unknown"
            case "name":
                self.names.append(held.text)
            case _:
                if held.text:
                    self.said.append(HistoryMessage(self._author, held.text, self._id or None, time_of(self._id)))


def read_page(path: Path) -> DiscordPage:
    """Read a page.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not UTF-8.
    """
    page = DiscordPage()
    with TextIOWrapper(open_plain(path), encoding="utf-8-sig") as file:
        for piece in _pieces(file):
            page.feed(piece)
    page.close()
    return page


def _pieces(file: TextIOWrapper) -> Iterator[str]:
    while piece := file.read(_CHUNK):
        yield piece
