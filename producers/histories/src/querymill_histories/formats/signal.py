"""Signal: a chat as signal-export writes it, in Markdown or JSON lines, or as signalbackup-tools does, in text."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import each, head_of, taken, text_lines
from querymill_histories.rules.contents import mappings, spoken, word
from querymill_histories.rules.remarks import ATTACHMENTS, DELETED, NO_TIMES, REACTIONS, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.rules.times import counted_moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session

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
_FIELDS: Final = frozenset(["date", "sender", "body", "quote", "reactions"])


def recognise(head: Head) -> bool:
    """Return whether a file begins with messages of Signal."""
    if _is_json(head):
        return True
    form = _form_of(head.text.lstrip())
    if form is _IN_MARKDOWN:
        return _TEXT_ENDS.search(head.text) is not None
    return form is _IN_TEXT


def _is_json(head: Head) -> bool:
    return any(record.keys() >= _FIELDS for record in head.records)


def _form_of(text: str) -> re.Pattern[str] | None:
    return next((form for form in _TIMES if form.match(text)), None)


@dataclass(slots=True)
class _Line:
    """A message as it stands in the file."""

    number: int
    at: datetime | None
    author: str | None
    text: str


def _read(path: Path, asked: ReadOptions) -> Read:
    entries: list[HistoryMessage] = []
    left_out: Counter[str] = Counter()

    def take(number: int, row: dict[str, Any]) -> None:
        if (said := _of_row(number, row, asked, left_out)) is not None:
            entries.append(said)

    if _is_json(head_of(path)):
        yield from taken(path, take)
    else:
        lines = _lines(path, left_out)
        entries = [said for each_ in lines if (said := _said(each_, asked, left_out)) is not None]
    stem = plain_name(path).stem
    name = _NUMBERED.sub("", path.parent.name if stem in ("chat", "data") else stem)
    id_ = f"signal-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    yield Session(id_, path, list(entries), name, None, {"time_zone": str(asked.zone)}, left_out=+left_out)


def _of_row(number: int, row: dict[str, Any], asked: ReadOptions, left_out: Counter[str]) -> HistoryMessage | None:
    text = spoken(row.get("body"), left_out)
    files = len(list(mappings(row.get("attachments")))) + bool(row.get("sticker"))
    left_out[ATTACHMENTS] += files
    left_out[REACTIONS] += len(list(mappings(row.get("reactions"))))
    if row.get("deleted"):
        left_out[DELETED] += 1
    elif row.get("call"):
        left_out[SYSTEM_LINES] += 1
    elif text:
        at = counted_moment(row.get("date"), left_out, asked.zone)
        return HistoryMessage(word(row.get("sender")) or "unknown", text, None, at, number)
    else:
        left_out[WITHOUT_TEXT] += not files
    return None


def _lines(path: Path, left_out: Counter[str]) -> Iterator[_Line]:
    """Yield messages; a line without a date continues the one before."""
    held: _Line | None = None
    form: re.Pattern[str] | None = None
    for number, line in text_lines(path, left_out):
        form = form or _form_of(line)
        match = form.match(line) if form else None
        if form is None or match is None:
            if held is not None:
                held.text += f"\n{line}"
            continue
        if held is not None:
            yield held
        held = _Line(number, _moment(match["at"], _TIMES[form]), match["author"], match["text"])
    if held is not None:
        yield held


def _moment(written: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(written, form)  # noqa: DTZ007  # the zone is the reader's
    except ValueError:
        return None


def _without_answered(text: str) -> str:
    """Return a text without the message that it answers, which is quoted above it."""
    match = _ANSWERED.match(text)
    return text[match.end() :] if match else text


def _said(line: _Line, asked: ReadOptions, left_out: Counter[str]) -> HistoryMessage | None:
    """Return a message, None for an event and for what has no text, which are counted."""
    beside = [match[0] for match in _BESIDE.finditer(line.text)]
    deleted = sum("This message was deleted" in part for part in beside)
    reactions = sum(part.startswith("(- ") for part in beside)
    files = len(beside) - deleted - reactions
    text = _BESIDE.sub("", _without_answered(line.text)).strip()
    said = _REACTIONS.sub("", text)
    left_out[DELETED] += deleted
    left_out[REACTIONS] += reactions + (said != text)
    left_out[ATTACHMENTS] += files
    if line.author is None or _CALL.match(said):
        left_out[SYSTEM_LINES] += 1
    elif said:
        left_out[NO_TIMES] += line.at is None
        at = line.at and line.at.replace(tzinfo=asked.zone)
        return HistoryMessage(line.author, said, None, at, line.number)
    else:
        left_out[WITHOUT_TEXT] += not beside
    return None


FORMAT: Final = HistoryFormat("signal", recognise, each(_read))
