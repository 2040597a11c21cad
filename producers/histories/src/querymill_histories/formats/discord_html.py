"""Discord: a channel as DiscordChatExporter writes it as a web page. The ids of messages tell their times."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from querymill_histories.formats.web_pages import parse_page
from querymill_histories.rules.remarks import ATTACHMENTS, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.session import Head, HistoryMessage

#: Since then Discord counts milliseconds; an id holds them above its lower bits.
_EPOCH: Final = datetime(2015, 1, 1, tzinfo=UTC)
_LOWER_BITS: Final = 22
_VOID: Final = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])
#: Elements whose texts are held, and as what.
_HOLDS: Final = {
    "author": frozenset(["chatlog__author", "chatlog__author-name"]),
    "text": frozenset(["chatlog__content"]),
    "name": frozenset(["preamble__entry"]),
    "card": frozenset(
        [
            "chatlog__embed-title",
            "chatlog__embed-description",
            "chatlog__embed-field-name",
            "chatlog__embed-field-value",
        ]
    ),
}
_FILES: Final = frozenset(["chatlog__attachment", "chatlog__sticker"])
_EDITED, _OF_DISCORD = "chatlog__edited-timestamp", "chatlog__system-notification"


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


@dataclass(slots=True)
class _Message:
    """A message that is being read: its texts, those of the cards of programs, and what else is seen of it."""

    id: str
    texts: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    files: int = 0
    is_of_discord: bool = False


class DiscordPage(HTMLParser):
    """Gathers the messages of a page, the names above them, of the server and of the channel, and what is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.said: list[HistoryMessage] = []
        self.left_out: Counter[str] = Counter()
        self._depth = 0
        self._held: _Held | None = None
        self._left_out = 0
        self._author = "unknown"
        self._message: _Message | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a message, an author or a text begins."""
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        if tag in _VOID:
            self._add("\n" if tag == "br" else given.get("alt", "") if tag == "img" else "")
            return
        self._depth += 1
        if (id_ := given.get("data-message-id")) and (self._message is None or self._message.id != id_):
            self.end_message()
            self._message = _Message(id_)
        if self._held is not None:
            if _EDITED in classes and not self._left_out:
                self._left_out = self._depth
        elif of := next((of for of, names in _HOLDS.items() if classes & names), None):
            self._held = _Held(of, self._depth)
        elif self._message is not None:
            self._message.files += bool(classes & _FILES)
            self._message.is_of_discord |= _OF_DISCORD in classes

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
        if held.of == "author":
            self._author = held.text or "unknown"
        elif held.of == "name":
            self.names.append(held.text)
        else:
            # Older pages give the id to the text itself.
            self._message = self._message or _Message("")
            (self._message.texts if held.of == "text" else self._message.cards).append(held.text)

    def end_message(self) -> None:
        """Keep the message that is being read, or count it."""
        message, self._message = self._message, None
        if message is None:
            return
        text = "\n".join(filter(None, message.texts)) or "\n".join(filter(None, message.cards))
        self.left_out[ATTACHMENTS] += message.files
        if text:
            self.said.append(HistoryMessage(self._author, text, message.id or None, time_of(message.id)))
        elif message.is_of_discord:
            self.left_out[SYSTEM_LINES] += 1
        else:
            self.left_out[WITHOUT_TEXT] += not message.files


def read_page(path: Path) -> DiscordPage:
    """Read a page.

    Raises:
        OSError: It cannot be read.
    """
    page = DiscordPage()
    parse_page(path, page, page.left_out)
    page.end_message()
    return page
