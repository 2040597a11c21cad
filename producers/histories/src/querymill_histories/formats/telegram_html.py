"""Telegram: a chat as its desktop program exports it as web pages, ``messages.html``, ``messages2.html`` and so on."""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from querymill_histories.formats.web_pages import parse_page
from querymill_histories.rules.remarks import ATTACHMENTS, NO_TIMES, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.session import Head, HistoryMessage

_VOID: Final = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])
#: ``28.07.2025 01:29:21 UTC+01:00``; older exports name no zone.
_TIME: Final = re.compile(
    r"(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d{4}) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?: (?:UTC|GMT)(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?"
)
#: Elements that hold what was said: also the question of a poll, and its answers.
_TEXTS: Final = frozenset(["text", "question", "answer"])


def is_html(head: Head) -> bool:
    """Return whether a file begins as the exported pages do."""
    packed = head.packed
    return packed[:14].lower() == "<!doctypehtml>" and 'class="page_wrap"' in packed and 'class="page_header"' in packed


def time_in(title: str, zone: tzinfo) -> datetime | None:
    """Read the time of a message; one without a zone is in the zone that is given."""
    match = _TIME.search(title)
    if match is None:
        return None
    if match["sign"]:
        ahead = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"]))
        zone = timezone(ahead if match["sign"] == "+" else -ahead)
    year, month, day, hour, minute, second = map(int, match.group("year", "month", "day", "hour", "minute", "second"))
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        return None


@dataclass(slots=True)
class _Message:
    """A message that is being read. Of what was forwarded, the text counts as the sender's."""

    id: str
    author: str
    at: datetime | None = None
    texts: list[str] = field(default_factory=list)
    files: int = 0


class TelegramPage(HTMLParser):
    """Gathers the messages of a page, the name of the chat above them, and the counts of what is left out."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self.name = ""
        self.said: list[HistoryMessage] = []
        self.left_out: Counter[str] = Counter()
        self._zone = zone
        self._depth = 0
        self._message: _Message | None = None
        self._begun = 0
        self._header = 0
        self._forwarded = 0
        self._held: tuple[str, int, list[str]] | None = None
        self._author = "unknown"
        self._votes = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a message, its author, its time or its text begins."""
        if tag in _VOID:
            if tag == "br":
                self.handle_data("\n")
            return
        self._depth += 1
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        is_event = {"message", "service"} <= classes  # that of a day has a number below zero
        self.left_out[SYSTEM_LINES] += is_event and not given.get("id", "").startswith("message-")
        if {"message", "default"} <= classes:
            self._message, self._begun = (
                _Message(given.get("id", "").removeprefix("message"), self._author),
                self._depth,
            )
        elif "page_header" in classes:
            self._header = self._depth
        elif "forwarded" in classes:
            self._forwarded = self._forwarded or self._depth
        else:
            self._hold(classes, given.get("title", ""))

    def _hold_votes(self, held: tuple[str, int, list[str]], classes: set[str]) -> None:
        if held[0] == "answer" and "details" in classes:
            held[2][:] = ["".join(held[2]).rstrip(), " ("]
            self._votes = self._depth

    def _hold(self, classes: set[str], title: str) -> None:
        if self._held is not None:
            self._hold_votes(self._held, classes)
        elif self._message is None:
            if self._header and "text" in classes:
                self._held = ("name", self._depth, [])
        elif "date" in classes and not self._forwarded:
            self._message.at = self._message.at or time_in(title, self._zone)
        elif "from_name" in classes and not self._forwarded:
            self._held = ("author", self._depth, [])
        elif classes & _TEXTS:
            self._held = ("answer" if "answer" in classes else "text", self._depth, [])
        else:
            self._message.files += ("media_wrap" in classes) - ("media_poll" in classes)

    def handle_endtag(self, tag: str) -> None:
        """Note where one ends."""
        if tag in _VOID:
            return
        if self._held is not None and self._held[1] == self._depth:
            self._take(self._held[0], "".join(self._held[2]).strip())
            self._held = None
        if self._votes == self._depth and self._held is not None:
            self._held[2].append(")")
            self._votes = 0
        if self._message is not None and self._begun == self._depth:
            self.end_message()
        self._header = 0 if self._header == self._depth else self._header
        self._forwarded = 0 if self._forwarded == self._depth else self._forwarded
        self._depth -= 1

    def end_message(self) -> None:
        """Keep the message that is being read, or count it."""
        if self._message is None:
            return
        text = "\n".join(filter(None, self._message.texts))
        self.left_out[ATTACHMENTS] += max(self._message.files, 0)
        if text:
            self.said.append(HistoryMessage(self._author, text, self._message.id or None, self._message.at))
        elif not self._message.files:
            self.left_out[WITHOUT_TEXT] += 1
        self.left_out[NO_TIMES] += self._message.at is None and bool(text)
        self._message = None

    def handle_data(self, data: str) -> None:
        """Gather text. Lines are broken by elements, and not by what stands between them."""
        if self._held is not None:
            self._held[2].append(data if data == "\n" else re.sub(r"\s*\n\s*", "", data))

    def _take(self, of: str, text: str) -> None:
        if of == "name":
            self.name = self.name or text
        elif of == "author":
            self._author = text or "unknown"
        elif self._message is not None:
            self._message.texts.append(text)


def read_page(path: Path, zone: tzinfo) -> TelegramPage:
    """Read a page.

    Raises:
        OSError: It cannot be read.
    """
    page = TelegramPage(zone)
    parse_page(path, page, page.left_out)
    page.end_message()  # the file may be cut
    return page
