"""Matrix: a room as Element exports it as web pages, ``messages.html``, ``messages2.html`` and so on."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from querymill_histories.formats.matrix_text import OMITTED
from querymill_histories.formats.web_pages import parse_page
from querymill_histories.rules.polls import of_poll
from querymill_histories.rules.remarks import ATTACHMENTS, DELETED, NO_TIMES, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.rules.written_dates import written_moment
from querymill_histories.session import Head, HistoryMessage

_VOID: Final = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])
_BLOCKS: Final = ("p", "li", "blockquote", "pre")
_EVENT: Final = "mx_Export_EventWrapper"
#: Elements whose texts are held, and as what.
_HOLDS: Final = {
    "name": frozenset(["mx_RoomHeader_truncated", "mx_RoomHeader_nametext"]),
    "day": frozenset(["mx_DateSeparator_dateHeading"]),
    "author": frozenset(
        ["mx_DisambiguatedProfile_displayName", "mx_SenderProfile_displayName", "mx_SenderProfile_name"]
    ),
    "time": frozenset(["mx_MessageTimestamp"]),
    "text": frozenset(["mx_EventTile_body"]),
    "option": frozenset(["mx_PollOption_optionText", "mx_MPollBody_optionText"]),
}
#: What is answered stands within an answer, and what is said of it beside it.
_NOT_OWN: Final = frozenset(
    ["mx_ReplyChain", "mx_ReplyThread", "mx_ReplyTile", "mx_EventTile_edited", "mx_ReactionsRow", "mx_EventTile_avatar"]
)
_FILES: Final = frozenset(["mx_MImageBody", "mx_MFileBody", "mx_MVideoBody", "mx_MAudioBody", "mx_MVoiceMessageBody",
                           "mx_MStickerBody", "mx_MLocationBody"])  # fmt: skip
_DELETED: Final = "mx_RedactedBody"
_POLL: Final = "mx_MPollBody"


def is_html(head: Head) -> bool:
    """Return whether a file begins as the exported pages do."""
    return head.packed[:14].lower() == "<!doctypehtml>" and 'id="matrixchat"' in head.text and "mx_Room" in head.text


@dataclass(slots=True)
class _Event:
    """An event that is being read."""

    id: str
    classes: set[str] = field(default_factory=set)
    time: str = ""
    texts: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)


class ElementPage(HTMLParser):
    """Gathers the messages of a page, the name of the room above them, and the counts of what is left out."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self.name = ""
        self.said: list[HistoryMessage] = []
        self.left_out: Counter[str] = Counter()
        self._zone = zone
        self._depth = 0
        self._event: _Event | None = None
        self._held: tuple[str, int, list[str]] | None = None
        self._not_own = 0
        self._author, self._day = "unknown", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where an event, its author, its time or its text begins."""
        if tag in _VOID:
            self.handle_data("\n" if tag == "br" else "")
            return
        self._depth += 1
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        if _EVENT in classes:
            self.end_event()
            self._event = _Event(given.get("id", ""))
        elif self._event is not None:
            self._event.classes |= classes
        if not self._not_own and (classes & _NOT_OWN or tag == "mx-reply"):
            self._not_own = self._depth
        if self._held is None and not self._not_own:
            self._hold(tag, classes)
        elif self._held is not None and tag in _BLOCKS:
            self._held[2].append("\n")

    def _hold(self, tag: str, classes: set[str]) -> None:
        of = next((of for of, names in _HOLDS.items() if classes & names), None)
        if of is None and tag == "h2" and self._event is not None and _POLL in self._event.classes:
            of = "text"
        if of is not None:
            self._held = (of, self._depth, [])

    def handle_endtag(self, tag: str) -> None:
        """Note where one ends."""
        if tag in _VOID:
            return
        if self._held is not None and self._held[1] == self._depth:
            self._take(self._held[0], "".join(self._held[2]).strip())
            self._held = None
        self._not_own = 0 if self._not_own == self._depth else self._not_own
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        """Gather text."""
        if self._held is not None and not self._not_own:
            self._held[2].append(data)

    def _take(self, of: str, text: str) -> None:
        if of == "name":
            self.name = self.name or text
        elif of == "day":
            self.end_event()
            self._day = text
        elif of == "author":
            self._author = text or "unknown"
        elif self._event is not None and of == "time":
            self._event.time = text
        elif self._event is not None:
            (self._event.texts if of == "text" else self._event.options).append(text)

    def end_event(self) -> None:
        """Keep the message that is being read, or count it."""
        event, self._event = self._event, None
        if event is None:
            return
        text = of_poll("\n".join(filter(None, event.texts)), [(option, None) for option in event.options])
        is_file = bool(event.classes & _FILES) or OMITTED.fullmatch(text) is not None
        self.left_out[ATTACHMENTS] += is_file
        if _DELETED in event.classes:
            self.left_out[DELETED] += 1
        elif text and not OMITTED.fullmatch(text):
            at = self._moment(event.time)
            self.left_out[NO_TIMES] += at is None
            self.said.append(HistoryMessage(self._author, text, event.id or None, at))
        elif "mx_EventTile_content" in event.classes:
            self.left_out[WITHOUT_TEXT] += not is_file
        else:
            self.left_out[SYSTEM_LINES] += not is_file

    def _moment(self, time: str) -> datetime | None:
        return written_moment(f"{self._day} {time}", self._zone) if self._day else None


def read_page(path: Path, zone: tzinfo) -> ElementPage:
    """Read a page.

    Raises:
        OSError: It cannot be read.
    """
    page = ElementPage(zone)
    parse_page(path, page, page.left_out)
    page.end_event()  # the file may be cut
    return page
