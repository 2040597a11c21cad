"""Telegram: a chat exported by its desktop program, or all of them, as JSON or as web pages."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, head_of, object_of
from querymill_histories.formats.telegram_html import is_html, read_page
from querymill_histories.formats.web_pages import join_pages
from querymill_histories.rules.contents import given, mapping, mappings, records, spoken, word
from querymill_histories.rules.polls import of_poll
from querymill_histories.rules.remarks import ATTACHMENTS, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.rules.times import counted_moment, moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: How the ids of chats begin that were exported as web pages.
_OF_PAGES: Final = "telegram-"
#: Fields of what was sent with a message, or in place of one.
_MEDIA: Final = ("photo", "file", "contact_information", "location_information")


def recognise(head: Head) -> bool:
    """Return whether a file is an export of Telegram."""
    if is_html(head):
        return True
    return any(_is_chat(record) or _is_export(record) for record in head.records[:1])


def _is_chat(record: dict[str, Any]) -> bool:
    """Return whether an object is a chat: its messages have a type, and an id of who sent or did something."""
    messages = list(mappings(record.get("messages")))
    has_type = "type" in record and "id" in record
    is_sent = any(
        "type" in row and ("from_id" in row or "actor_id" in row or "text_entities" in row) for row in messages
    )
    return is_sent or (has_type and record.get("messages") == [] and "name" in record)


def _is_export(record: dict[str, Any]) -> bool:
    return any(isinstance(mapping(record.get(part)).get("list"), list) for part in ("chats", "left_chats"))


def _read(path: Path, asked: ReadOptions) -> Read:
    if is_html(head_of(path)):
        yield _of_page(path, asked)
        return
    lost: list[UnreadPlace] = []
    whole = mapping(object_of(path, lost))
    yield from lost
    if "messages" in whole:
        yield _session(path, whole, asked)
    for part in ("chats", "left_chats"):
        for chat in mappings(mapping(whole.get(part)).get("list")):
            yield _session(path, chat, asked)


def _of_page(path: Path, asked: ReadOptions) -> Session:
    """Read a page of a chat. Pages tell no id: a chat is known by its name, in an export of all by its folder too."""
    page = read_page(path, asked.zone)
    folder = path.parent.name if path.parent.name.startswith("chat_") else ""
    id_ = f"{_OF_PAGES}{hashlib.sha256(f'{folder} {page.name}'.encode()).hexdigest()[:16]}"
    about = {"time_zone": str(asked.zone)}
    return Session(id_, path, list(page.said), page.name or None, None, about, left_out=+page.left_out)


def read(paths: Sequence[Path], asked: ReadOptions) -> Read:
    """Read chats; the pages of one chat are one session."""
    yield from join_pages(each(_read)(paths, asked), _OF_PAGES)


def _session(path: Path, chat: dict[str, Any], asked: ReadOptions) -> Session:
    left_out: Counter[str] = Counter()
    said = list(_messages(chat, asked, left_out))
    said.sort(key=lambda one: one.at.timestamp() if one.at else 0.0)
    name = word(chat.get("name")) or ("Saved Messages" if chat.get("type") == "saved_messages" else None)
    about = given({"chat_type": chat.get("type"), "time_zone": str(asked.zone)})
    return Session(word(chat.get("id")) or path.stem, path, list(said), name, None, about, left_out=+left_out)


def _messages(chat: dict[str, Any], asked: ReadOptions, left_out: Counter[str]) -> Iterator[HistoryMessage]:
    for row in records(chat.get("messages"), left_out):
        text = spoken(row.get("text"), left_out, "") or spoken(row.get("text_entities"), left_out, "")
        left_out[ATTACHMENTS] += any(field in row for field in _MEDIA)
        poll = mapping(row.get("poll"))
        if poll:
            answers = [
                (spoken(answer.get("text"), left_out, ""), answer.get("voters"))
                for answer in mappings(poll.get("answers"))
            ]
            text = "\n".join(filter(None, (text, of_poll(spoken(poll.get("question"), left_out, ""), answers))))
        if tasks := mapping(row.get("todo_list")):
            listed = [(spoken(task.get("text"), left_out, ""), None) for task in mappings(tasks.get("answers"))]
            text = "\n".join(filter(None, (text, of_poll(spoken(tasks.get("title"), left_out, ""), listed))))
        if row.get("type") != "message":
            left_out[SYSTEM_LINES] += 1
        elif text:
            author = word(row.get("from")) or word(row.get("from_id")) or "unknown"
            yield HistoryMessage(author, text, word(row.get("id")), _time(row, left_out, asked))
        elif not any(field in row for field in _MEDIA):
            left_out[WITHOUT_TEXT] += 1


def _time(row: dict[str, Any], left_out: Counter[str], asked: ReadOptions) -> datetime | None:
    """Return the time of a message: ``date`` is local, and only newer exports have the other."""
    return moment(row.get("date_unixtime")) or counted_moment(row.get("date"), left_out, asked.zone)


FORMAT: Final = HistoryFormat("telegram", recognise, read, read_with="new")
