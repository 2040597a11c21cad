"""Signal: a chat as signal-export writes it, in Markdown or JSON lines, or as signalbackup-tools does, in text."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, head_of, lines_of
from querymill_histories.rules.times import moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: ``[2026-01-05 10:00:00] Ann: `` of Markdown, and ``[Jan 05, 2026 10:00:00] <Ann> `` of text, with ``***`` for events.
_IN_MARKDOWN: Final = re.compile(
    r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] (?P<author>[^:\n]{1,100}): (?P<text>.*)", re.DOTALL
)
_IN_TEXT: Final = re.compile(
    r"\[(?P<at>[A-Z][a-z]{2} \d\d, \d{4} \d\d:\d\d:\d\d)\] (?:<(?P<author>[^>\n]{1,100})> |\*\*\* )(?P<text>.*)",
    re.DOTALL,
)
_TIMES: Final = {_IN_MARKDOWN: "%Y-%m-%d %H:%M:%S", _IN_TEXT: "%b %d, %Y %H:%M:%S"}
#: In Markdown two blanks end a text. Without them the same line is one of WhatsApp, from a Swedish iPhone.
_TEXT_ENDS: Final = re.compile(r"  $", re.MULTILINE)
#: What stands around a text: the message that it answers, and what the others think of it, or was sent with it.
_ANSWERED: Final = re.compile(r"\s*+(?:>.*\n)++\n")
_BESIDE: Final = re.compile(
    r"^\(- .* -\)$|^\(\( .* \)\)$|!?\[[^\]\n]*\]\(\.\.?/[^)\n]*\)|\((?:media|attachment) not exported\)"
    r"|^\(This message was deleted\)$",
    re.MULTILINE,
)
_REACTIONS: Final = re.compile(r" \((?:[^():\n]{1,100}: [^\w\s(),]{1,12}+(?:, )?+)++\)$")
#: A call is an event and no message.
_CALL: Final = re.compile(r"(?:Incoming|Outgoing|Missed) (?:voice |video |group )?call(?: \([^)\n]*\))?$")
_NUMBERED: Final = re.compile(r" \(_id\d+\)$")
_FIELDS: Final = ('"sender":', '"body":', '"quote":', '"reactions":[')


def recognise(head: Head) -> bool:
    """Return whether a file begins with messages of Signal."""
    if _is_json(head):
        return True
    form = _form_of(head.text.lstrip())
    if form is _IN_MARKDOWN:
        return _TEXT_ENDS.search(head.text) is not None
    return form is _IN_TEXT


def _is_json(head: Head) -> bool:
    first = head.packed[:8_000]
    return first.startswith('{"date":"') and all(field in first for field in _FIELDS)


def _form_of(text: str) -> re.Pattern[str] | None:
    return next((form for form in _TIMES if form.match(text)), None)


@dataclass(slots=True)
class _Line:
    """A message as it stands in the file."""

    number: int
    at: datetime
    author: str | None
    text: str


def _read(path: Path, asked: ReadOptions) -> Read:
    entries: list[HistoryMessage] = []
    if _is_json(head_of(path)):
        for line in lines_of(path):
            if isinstance(line, UnreadPlace):
                yield line
            elif (said := _of_row(*line, asked)) is not None:
                entries.append(said)
    else:
        entries = [said for each_ in _lines(path) if (said := _said(each_, asked)) is not None]
    name = _NUMBERED.sub("", path.parent.name if path.stem in ("chat", "data") else path.stem)
    id_ = f"signal-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    yield Session(id_, path, list(entries), name, None, {"time_zone": str(asked.zone)})


def _of_row(number: int, row: dict[str, Any], asked: ReadOptions) -> HistoryMessage | None:
    text = str(row.get("body") or "").strip()
    if row.get("deleted") or row.get("call") or not text:
        return None
    return HistoryMessage(str(row.get("sender") or "unknown"), text, None, moment(row.get("date"), asked.zone), number)


def _lines(path: Path) -> Iterator[_Line]:
    """Yield messages; a line without a date continues the one before."""
    held: _Line | None = None
    form: re.Pattern[str] | None = None
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for number, raw in enumerate(file, 1):
            line = raw.rstrip("\r\n")
            form = form or _form_of(line)
            match = form.match(line) if form else None
            if form is None or match is None:
                if held is not None:
                    held.text += f"\n{line}"
                continue
            if held is not None:
                yield held
            at = datetime.strptime(match["at"], _TIMES[form])  # noqa: DTZ007  # the zone is the reader's
            held = _Line(number, at, match["author"], match["text"])
    if held is not None:
        yield held


def _without_answered(text: str) -> str:
    """Return a text without the message that it answers, which is quoted above it."""
    match = _ANSWERED.match(text)
    return text[match.end() :] if match else text


def _said(line: _Line, asked: ReadOptions) -> HistoryMessage | None:
    """Return a message, None for an event and for what has no text."""
    text = _BESIDE.sub("", _without_answered(line.text)).strip()
    text = _REACTIONS.sub("", text)
    if line.author is None or not text or _CALL.match(text):
        return None
    return HistoryMessage(line.author, text, None, line.at.replace(tzinfo=asked.zone), line.number)


FORMAT: Final = HistoryFormat("signal", recognise, each(_read))
