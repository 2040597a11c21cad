"""WhatsApp: a chat exported as text. The form of its dates depends on the language and region of the phone."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from querymill.histories.files import each
from querymill.histories.rules.day_order import Stamp, order_of
from querymill.histories.session import Asked, Format, Head, Read, Said, Session, Unread

_MARKS: Final = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"
_HALF: Final = r"[AaPp]\.?\s?[Mm]\.?|上午|下午|오전|오후|午前|午後"
#: ``12/9/20, 23:55 - ``, ``[09.12.20, 23:55:12] ``, ``9/12/20, 11:55 p. m. - ``, ``2020/12/9 下午11:55 - `` …
_START: Final = re.compile(
    rf"[{_MARKS}]*\[?(?P<a>\d{{1,4}})(?P<sep>[./-])\s?(?P<b>\d{{1,2}})[./-]\s?(?P<c>\d{{1,4}})\.?(?P<comma>,?)\s+"
    rf"(?:(?:at|um|kl\.|à)\s+)?(?P<before>{_HALF})?\s*(?P<hour>\d{{1,2}})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    rf"\s*(?P<after>{_HALF})?\s*(?:\]|[-–])\s(?P<rest>.*)",
    re.DOTALL,
)
_AUTHOR: Final = re.compile(r"(?P<author>[^:\"“”«»\n]{1,100}?)\s?:(?:\s(?P<text>.*)|$)", re.DOTALL)
#: What WhatsApp says at the top of a chat, where it may look as if the group said it.
_ENCRYPTED: Final = re.compile(
    r"end-to-end|ende-zu-ende|extremo a extremo|ponta a ponta|bout en bout|eind-tot-eind|сквозн|端[对對到]端"
    r"|エンドツーエンド",
    re.I,
)
#: Stands for what is not in the text.
_LEFT_OUT: Final = re.compile(
    r"<[^<>\n]{3,60}>$|(?:image|video|audio|sticker|GIF|document|Contact card) omitted$"
    r"|This message was deleted\.?$|You deleted this message\.?$|null$"
)
_NAME: Final = re.compile(
    r"^(?:WhatsApp[ -]Chat|Chat de WhatsApp|Conversa do WhatsApp|Discussion WhatsApp|Chat WhatsApp)"
    r"(?: (?:with|mit|con|com|avec|met|-))? (?P<name>.+?)(?: \(\d+\))?$"
)


def recognise(head: Head) -> bool:
    """Return whether a text begins with messages of WhatsApp."""
    lines = [line for line in head.text.splitlines()[:10] if line.strip()]
    return bool(lines) and _START.match(lines[0]) is not None and "\x00" not in head.text


@dataclass(slots=True)
class _Line:
    """A message as it stands in the file: the numbers of its date are not told apart yet."""

    number: int
    stamp: Stamp
    text: str


def _read(path: Path, asked: Asked) -> Read:
    lines = list(_lines(path))
    order = order_of([line.stamp for line in lines])
    entries: list[Said] = []
    for place, line in enumerate(lines):
        at = line.stamp.moment(order)
        if at is None:
            yield Unread(f"{path}:{line.number}", "a date that the others of the file rule out")
        elif said := _said(line, at.replace(tzinfo=asked.zone), is_at_top=place < 3):
            entries.append(said)
    name = name_of(path)
    known_by = name or f"{path.stem} {lines[0].text if lines else None}"
    id_ = f"whatsapp-{hashlib.sha256(known_by.encode()).hexdigest()[:16]}"
    about = {"dates": order.described, "time_zone": str(asked.zone)}
    yield Session(id_, path, list(entries), name, min((said.at for said in entries if said.at), default=None), about)


def name_of(path: Path) -> str | None:
    """Return the name of a chat: it is in the name of the file, on an iPhone in that of the folder."""
    stem = path.parent.name if path.stem == "_chat" else path.stem
    match = _NAME.match(stem)
    return match["name"] if match else None


def _lines(path: Path) -> Iterator[_Line]:
    """Yield messages; a line without a date continues the one before."""
    held: _Line | None = None
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for number, raw in enumerate(file, 1):
            line = raw.rstrip("\r\n")
            match = _START.match(line)
            if match is None:
                if held is not None:
                    held.text += f"\n{line}"
                continue
            if held is not None:
                yield held
            held = _Line(number, _stamp(match), match["rest"])
    if held is not None:
        yield held


def _stamp(match: re.Match[str]) -> Stamp:
    half = (match["before"] or match["after"] or "").lower()
    hour = int(match["hour"])
    if half:
        hour = hour % 12 + (12 if half.startswith("p") or half in ("下午", "오후", "午後") else 0)
    parts = (match["a"], match["b"], match["c"])
    return Stamp(parts, (hour, int(match["minute"]), int(match["second"] or 0)), match["sep"], bool(match["comma"]))


def _said(line: _Line, at: datetime, *, is_at_top: bool) -> Said | None:
    """Return a message, None for a line of WhatsApp itself."""
    match = _AUTHOR.match(line.text.lstrip(_MARKS))
    if match is None:
        return None
    text = match["text"] or ""
    is_of_whatsapp = text.startswith("\u200e") or (is_at_top and _ENCRYPTED.search(text))
    text = text.translate(dict.fromkeys(map(ord, _MARKS))).strip()
    if is_of_whatsapp or not text or _LEFT_OUT.match(text):
        return None
    author = match["author"].translate(dict.fromkeys(map(ord, _MARKS))).lstrip("~\u202f\u00a0 ").strip()
    return Said(author or "unknown", text, None, at, line.number)


FORMAT: Final = Format("whatsapp", recognise, each(_read))
