"""Telegram: a chat exported by its desktop program, or all of them."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from querymill.histories.files import each, object_of
from querymill.histories.rules.contents import given, mapping, mappings, word
from querymill.histories.rules.times import moment
from querymill.histories.session import Asked, Format, Head, Read, Said, Session


def recognise(head: Head) -> bool:
    """Return whether a file is an export of Telegram."""
    packed = head.packed
    is_chat = '"messages":[' in packed and (
        '"from_id":' in packed or '"text_entities":' in packed or '"actor_id":' in packed
    )
    return packed.startswith("{") and (is_chat or ('"chats":{' in packed and '"list":[' in packed))


def _read(path: Path, asked: Asked) -> Read:
    whole = mapping(object_of(path))
    if "messages" in whole:
        yield _session(path, whole, asked)
    for part in ("chats", "left_chats"):
        for chat in mappings(mapping(whole.get(part)).get("list")):
            yield _session(path, chat, asked)


def _session(path: Path, chat: dict[str, Any], asked: Asked) -> Session:
    said = list(_messages(chat, asked))
    said.sort(key=lambda one: one.at.timestamp() if one.at else 0.0)
    name = word(chat.get("name")) or ("Saved Messages" if chat.get("type") == "saved_messages" else None)
    about = given({"chat_type": chat.get("type"), "time_zone": str(asked.zone)})
    return Session(word(chat.get("id")) or path.stem, path, list(said), name, None, about)


def _messages(chat: dict[str, Any], asked: Asked) -> Iterator[Said]:
    for row in mappings(chat.get("messages")):
        text = text_of(row.get("text") or row.get("text_entities")).strip()
        if row.get("type") == "message" and text:
            author = word(row.get("from")) or word(row.get("from_id")) or "unknown"
            yield Said(author, text, word(row.get("id")), _time(row, asked))


def _time(row: dict[str, Any], asked: Asked) -> datetime | None:
    """Return the time of a message: ``date`` is local, and only newer exports have the other."""
    return moment(row.get("date_unixtime")) or moment(row.get("date"), asked.zone)


def text_of(text: Any) -> str:
    """Return a text: a string, or a list of strings and of objects such as links, which follow each other."""
    if isinstance(text, str):
        return text
    parts = text if isinstance(text, list) else []
    return "".join(part if isinstance(part, str) else str(mapping(part).get("text") or "") for part in parts)


FORMAT: Final = Format("telegram", recognise, each(_read))
