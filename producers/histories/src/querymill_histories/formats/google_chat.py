"""Google Chat: the messages of a conversation or space, as Google Takeout has them, with a description beside them."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import BROKEN, each, object_of
from querymill_histories.rules.contents import mapping, mappings, word
from querymill_histories.rules.remarks import ATTACHMENTS, DELETED, WITHOUT_TEXT
from querymill_histories.rules.times import moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session

#: Files beside the messages, which hold none.
_BESIDE: Final = ("group_info.json", "user_info.json")
#: ``Tuesday, January 9, 2024 at 10:00:00 PM UTC``: the day of the week and the "at" vary, and so do the blanks.
_DATE: Final = re.compile(
    r"(?:\w+,\s)?(?P<month>[A-Z][a-z]+)\s(?P<day>\d{1,2}),\s(?P<year>\d{4})(?:\sat|,)?\s"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:\s(?P<half>[AP]M))?(?:\s(?P<zone>[A-Z]{2,4}))?"
)
#: The field of a link's address.
_URL: Final = "private_do_not_access_or_else_safe_url_wrapped_value"
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def recognise(head: Head) -> bool:
    """Return whether a file holds messages of Google Chat, or says who speaks in them."""
    for record in head.records[:1]:
        if head.path.name in _BESIDE:
            return isinstance(record.get("members"), list) or "membership_info" in record or "user" in record
        return any("creator" in row and ("created_date" in row or "topic_id" in row)
                   for row in mappings(record.get("messages")))  # fmt: skip
    return False


def _read(path: Path, asked: ReadOptions) -> Read:
    if path.name in _BESIDE:
        return
    about = _described(path.with_name("group_info.json"))
    left_out: Counter[str] = Counter()
    said = list(_messages(mapping(object_of(path)), asked, left_out))
    people = [word(member.get("name")) or word(member.get("email")) or "" for member in mappings(about.get("members"))]
    folder = path.parent.name if path.stem == "messages" else path.stem
    name = word(about.get("name")) or ", ".join(filter(None, people)) or folder
    yield Session(folder, path, list(said), name, None, left_out=+left_out)


def _described(path: Path) -> dict[str, Any]:
    try:
        return mapping(object_of(path))
    except BROKEN:
        return {}


def _messages(whole: dict[str, Any], asked: ReadOptions, left_out: Counter[str]) -> Iterator[HistoryMessage]:
    for row in mappings(whole.get("messages")):
        files = len(list(mappings(row.get("attached_files"))))
        left_out[ATTACHMENTS] += files
        creator = mapping(row.get("creator"))
        text = str(row.get("text") or "").strip() or _cards(row)
        if row.get("message_state") == "DELETED" or "deletion_metadata" in row:
            left_out[DELETED] += 1
        elif text:
            who = word(creator.get("name")) or word(creator.get("email")) or "unknown"
            yield HistoryMessage(
                who, text, word(row.get("message_id")), time_of(word(row.get("created_date")) or "", asked)
            )
        elif not files:
            left_out[WITHOUT_TEXT] += 1


def _cards(row: dict[str, Any]) -> str:
    """Return the links that are all that a message shows."""
    links = [mapping(note.get("url_metadata")) for note in mappings(row.get("annotations"))]
    shown = [word(link.get("title")) or word(mapping(link.get("url")).get(_URL)) for link in links]
    return "\n".join(filter(None, shown))


def time_of(date: str, asked: ReadOptions) -> datetime | None:
    """Read a time in English words, or in figures; one that names no zone is in the caller's."""
    match = _DATE.fullmatch(" ".join(date.split()))
    if match is None or match["month"][:3] not in _MONTHS:
        return moment(date, asked.zone)
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] == "PM" else 0)
    day = f"{match['year']}-{_MONTHS.index(match['month'][:3]) + 1:02}-{int(match['day']):02}"
    zone = "+00:00" if match["zone"] in ("UTC", "GMT") else ""
    return moment(f"{day}T{hour:02}:{match['minute']}:{match['second']}{zone}", asked.zone)


FORMAT: Final = HistoryFormat("google-chat", recognise, each(_read))
