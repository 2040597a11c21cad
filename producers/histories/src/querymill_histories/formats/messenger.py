"""Messenger and Instagram: threads of a download of one's data, and of Messenger's own export."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, object_of
from querymill_histories.rules.contents import mapping, mappings, records, spoken, word
from querymill_histories.rules.copies import one_each
from querymill_histories.rules.remarks import ATTACHMENTS, DELETED, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.rules.times import counted_moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: Fields of what was sent with a message.
_MEDIA: Final = ("photos", "videos", "audio_files", "files", "gifs", "media")
#: Kinds of messages that say what happened.
_EVENTS: Final = ("ToolCall", "Subscribe", "Unsubscribe", "call", "placeholder", "admin")


def recognise(head: Head) -> bool:
    """Return whether a file holds a thread of Messenger or Instagram."""
    for record in head.records[:1]:
        messages = list(mappings(record.get("messages")))
        is_download = any("sender_name" in row and "timestamp_ms" in row for row in messages)
        is_export = any("senderName" in row and "timestamp" in row for row in messages)
        is_empty = record.get("messages") == [] and ("thread_path" in record or "threadName" in record)
        return isinstance(record.get("participants"), list) and (is_download or is_export or is_empty)
    return False


def in_utf8(text: str) -> str:
    """Return a text whose bytes of UTF-8 were written as one character each: ``MÃ¼he`` is ``Mühe``."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _read(path: Path, _asked: ReadOptions) -> Read:
    lost: list[UnreadPlace] = []
    thread = mapping(object_of(path, lost))
    yield from lost
    left_out: Counter[str] = Counter()
    said = list(_messages(thread, left_out))
    said.reverse()  # the newest stands first
    said.sort(key=lambda one: one.at.timestamp() if one.at else 0.0)
    held = thread.get("participants")
    people = [in_utf8(word(mapping(person).get("name")) or word(person) or "")
              for person in (held if isinstance(held, list) else ())]  # fmt: skip
    name = in_utf8(word(thread.get("title")) or "") or word(thread.get("threadName")) or ", ".join(filter(None, people))
    id_ = word(thread.get("thread_path")) or word(thread.get("threadName")) or path.parent.name
    yield Session(id_, path, list(said), name or None, said[0].at if said else None, left_out=+left_out)


def _messages(thread: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage]:
    for row in records(thread.get("messages"), left_out):
        files = sum(len(list(mappings(row.get(field)))) for field in _MEDIA) + bool(row.get("sticker"))
        left_out[ATTACHMENTS] += files
        who, text, at = _message(row, left_out)
        if row.get("is_unsent") or row.get("isUnsent"):
            left_out[DELETED] += 1
        elif row.get("type") in _EVENTS or "call_duration" in row:
            left_out[SYSTEM_LINES] += 1
        elif text:
            yield HistoryMessage(who or "unknown", text, None, counted_moment(at, left_out))
        elif not files:
            left_out[WITHOUT_TEXT] += 1


def _message(row: dict[str, Any], left_out: Counter[str]) -> tuple[str, str, Any]:
    """Return who wrote a message, its text with the link that it shares, and when."""
    if "senderName" in row:
        return word(row["senderName"]) or "", spoken(row.get("text"), left_out), row.get("timestamp")
    share = mapping(row.get("share"))
    text = in_utf8(spoken(row.get("content"), left_out))
    shared = [in_utf8(part) for name in ("share_text", "link") if (part := word(share.get(name)))]
    parts = [text, *(part for part in shared if part not in text)]
    return in_utf8(word(row.get("sender_name")) or ""), "\n".join(filter(None, parts)).strip(), row.get("timestamp_ms")


def read(paths: Sequence[Path], asked: ReadOptions) -> Read:
    """Read threads; one that stands in several files is one session."""
    sessions: list[Session] = []
    for found in each(_read)(paths, asked):
        if isinstance(found, Session):
            sessions.append(found)
        else:
            yield found
    yield from one_each(sessions)


FORMAT: Final = HistoryFormat("messenger", recognise, read, read_with="folder")
