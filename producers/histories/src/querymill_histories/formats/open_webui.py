"""Open WebUI: an export of chats, each with a tree of messages, or without one in older versions."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, each_record
from querymill_histories.rules.branches import path_to
from querymill_histories.rules.contents import given, mapping, records, spoken, word
from querymill_histories.rules.remarks import ATTACHMENTS, NO_OBJECTS, OTHER_BRANCHES, THOUGHTS, WITHOUT_TEXT
from querymill_histories.rules.times import moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session

#: What the page folds away in an answer: thoughts, and calls of tools.
_DETAILS: Final = re.compile(
    r"<details type=\"(?:reasoning|tool_calls|code_interpreter)\"[^>]*>.*?(?:</details>|\Z)", re.S
)
_THINK: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S)


def recognise(head: Head) -> bool:
    """Return whether a file holds chats of Open WebUI."""
    return any(is_chat(record) for record in head.records)


def is_chat(record: Any) -> bool:
    """Return whether an object is a chat: one within another, with a history of messages or a list of them."""
    chat = mapping(mapping(record).get("chat"))
    return isinstance(mapping(chat.get("history")).get("messages"), dict) or (
        isinstance(chat.get("messages"), list) and ("models" in chat or "history" in chat)
    )


def _read(path: Path, _asked: ReadOptions) -> Read:
    return each_record(path, "chat of Open WebUI", is_chat, _session)


def _session(path: Path, number: int, row: dict[str, Any]) -> Session:
    chat = row["chat"]
    left_out: Counter[str] = Counter()
    history = mapping(chat.get("history"))
    nodes = {id_: node for id_, node in mapping(history.get("messages")).items() if isinstance(node, dict)}
    if nodes:
        parents = {id_: word(node.get("parentId")) for id_, node in nodes.items()}
        shown = path_to(parents, word(history.get("currentId")))
        messages = [nodes[id_] for id_ in shown]
        left_out[OTHER_BRANCHES] = len(nodes) - len(shown)
        left_out[NO_OBJECTS] = len(mapping(history.get("messages"))) - len(nodes)
    else:
        messages = list(records(chat.get("messages"), left_out))
    entries = list(_messages(messages, left_out))
    about = given({"models": chat.get("models")})
    id_ = word(row.get("id")) or word(chat.get("id")) or f"{path.stem}-{number}"
    title = word(row.get("title")) or word(chat.get("title"))
    at = moment(row.get("created_at")) or moment(chat.get("timestamp"))
    return Session(id_, path, list(entries), title, at, about, left_out=+left_out)


def _messages(messages: list[dict[str, Any]], left_out: Counter[str]) -> Iterator[HistoryMessage]:
    for message in messages:
        files = message.get("files")
        left_out[ATTACHMENTS] += len(files) if isinstance(files, list) else 0
        whole = spoken(message.get("content"), left_out)
        text = _DETAILS.sub("", _THINK.sub("", whole)).strip()
        left_out[THOUGHTS] += text != whole.strip()
        if text:
            role = word(message.get("role")) or "unknown"
            yield HistoryMessage(role, text, word(message.get("id")), moment(message.get("timestamp")))
        else:
            left_out[WITHOUT_TEXT] += 1


FORMAT: Final = HistoryFormat("open-webui", recognise, each(_read))
