"""Google Chat: the messages of a conversation or space, as Google Takeout has them, with a description beside them."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import BROKEN, each, object_of
from querymill_histories.rules.contents import mapping, mappings, records, spoken, word
from querymill_histories.rules.remarks import ATTACHMENTS, DELETED, NO_TIMES, WITHOUT_TEXT
from querymill_histories.rules.times import moment
from querymill_histories.rules.written_dates import written_moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: Files beside the messages, which hold none.
_BESIDE: Final = ("group_info.json", "user_info.json")
#: The field of a link's address.
_URL: Final = "private_do_not_access_or_else_safe_url_wrapped_value"


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
    lost: list[UnreadPlace] = []
    said = list(_messages(mapping(object_of(path, lost)), asked, left_out))
    yield from lost
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
    for row in records(whole.get("messages"), left_out):
        files = len(list(mappings(row.get("attached_files"))))
        left_out[ATTACHMENTS] += files
        creator = mapping(row.get("creator"))
        text = spoken(row.get("text"), left_out) or _cards(row)
        if row.get("message_state") == "DELETED" or "deletion_metadata" in row:
            left_out[DELETED] += 1
        elif text:
            date = word(row.get("created_date")) or ""
            at = time_of(date, asked)
            left_out[NO_TIMES] += bool(date) and at is None
            yield HistoryMessage(name_of(creator), text, word(row.get("message_id")), at)
        elif not files:
            left_out[WITHOUT_TEXT] += 1


def name_of(person: dict[str, Any]) -> str:
    """Return the name of a person or of a program, or the address."""
    return word(person.get("name")) or word(person.get("email")) or "unknown"


def _cards(row: dict[str, Any]) -> str:
    """Return the links that are all that a message shows."""
    links = [mapping(note.get("url_metadata")) for note in mappings(row.get("annotations"))]
    shown = [word(link.get("title")) or word(mapping(link.get("url")).get(_URL)) for link in links]
    return "\n".join(filter(None, shown))


def time_of(date: str, asked: ReadOptions) -> datetime | None:
    """Read a time in the words of the account's language, or in figures; one that names no zone is in the caller's."""
    return moment(date, asked.zone) or written_moment(date, asked.zone)


FORMAT: Final = HistoryFormat("google-chat", recognise, each(_read))
