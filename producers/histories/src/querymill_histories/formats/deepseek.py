"""DeepSeek: an export of conversations, each a tree of messages that consist of fragments."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, each_record
from querymill_histories.rules.branches import shown_nodes
from querymill_histories.rules.contents import given, mapping, mappings, records, spoken, word
from querymill_histories.rules.remarks import ATTACHMENTS, OTHER_BRANCHES, THOUGHTS, WITHOUT_TEXT, unknown_kind
from querymill_histories.rules.times import moment
from querymill_histories.session import (
    ASSISTANT,
    USER,
    Head,
    HistoryFormat,
    HistoryMessage,
    Read,
    ReadOptions,
    Session,
    ToolCall,
)

_ROLES: Final = {"REQUEST": USER, "RESPONSE": ASSISTANT}
_SEARCHES: Final = ("SEARCH", "TOOL_SEARCH", "TOOL_OPEN", "READ_LINK")


def recognise(head: Head) -> bool:
    """Return whether a file holds conversations of DeepSeek."""
    return any(is_conversation(record) for record in head.records)


def is_conversation(record: Any) -> bool:
    """Return whether an object is a conversation: a tree whose messages have fragments, or have been inserted."""
    nodes = mapping(record).get("mapping")
    if not isinstance(nodes, dict):
        return False
    messages = [message for node in nodes.values() if (message := mapping(mapping(node).get("message")))]
    if any("author" in message for message in messages):
        return False
    return "inserted_at" in record or any("fragments" in message for message in messages)


def _read(path: Path, _asked: ReadOptions) -> Read:
    return each_record(path, "conversation of DeepSeek", is_conversation, _session)


def _session(path: Path, number: int, row: dict[str, Any]) -> Session:
    nodes = row["mapping"]
    current = word(row.get("current_message_id") or row.get("current_node"))
    shown = shown_nodes(nodes, current)
    left_out: Counter[str] = Counter()
    entries: list[HistoryMessage | ToolCall] = []
    messages = [(node, message) for node in shown if (message := mapping(mapping(nodes[node]).get("message")))]
    for place, (node, message) in enumerate(messages):
        entries += _entries(node, message, USER if place % 2 == 0 else ASSISTANT, left_out)
    left_out[OTHER_BRANCHES] += sum(bool(mapping(nodes[node]).get("message")) for node in nodes.keys() - set(shown))
    models = [word(mapping(mapping(node).get("message")).get("model")) for node in nodes.values()]
    about = given({"models": list(dict.fromkeys(filter(None, models)))})
    id_ = word(row.get("id")) or f"{path.stem}-{number}"
    title, at = word(row.get("title")), moment(row.get("inserted_at"))
    return Session(id_, path, entries, title, at, about, left_out=+left_out)


def _entries(
    node: str, message: dict[str, Any], turn: str, left_out: Counter[str]
) -> Iterator[HistoryMessage | ToolCall]:
    """Yield what a message consists of. In older exports it has a text, thoughts beside it, and a role by its turn."""
    id_, at = word(message.get("id")) or node, moment(message.get("inserted_at"))
    files = message.get("files")
    left_out[ATTACHMENTS] += len(files) if isinstance(files, list) else 0
    fragments = list(records(message.get("fragments"), left_out))
    if not fragments and (text := spoken(message.get("content"), left_out)):
        left_out[THOUGHTS] += bool(message.get("reasoning_content"))
        yield HistoryMessage((word(message.get("role")) or turn).lower(), text, id_, at)
    elif not fragments:
        left_out[WITHOUT_TEXT] += 1
    for fragment in fragments:
        kind, text = str(fragment.get("type")), spoken(fragment.get("content"), left_out)
        if kind in _ROLES:
            if text:
                yield HistoryMessage(_ROLES[kind], text, id_, at)
        elif kind == "THINK":
            left_out[THOUGHTS] += 1
        elif kind in _SEARCHES:
            results = [word(found.get("url")) or "" for found in mappings(fragment.get("results"))]
            yield ToolCall(kind.lower(), text or None, "\n".join(filter(None, results)), None, at)
        else:
            left_out[unknown_kind(kind)] += 1


FORMAT: Final = HistoryFormat("deepseek", recognise, each(_read))
