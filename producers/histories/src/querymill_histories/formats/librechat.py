"""LibreChat: an exported conversation, whose messages stand in a list, or as a tree, each with its answers."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, each_record
from querymill_histories.rules.branches import path_to
from querymill_histories.rules.contents import given, mapping, mappings, records, spoken, text_of, word
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

#: The parent of a first message.
_ROOT: Final = "00000000-0000-0000-0000-000000000000"
_LISTS: Final = ("messages", "messagesTree")


def recognise(head: Head) -> bool:
    """Return whether a file holds a conversation of LibreChat."""
    return any(is_conversation(record) for record in head.records)


def is_conversation(record: Any) -> bool:
    """Return whether an object is a conversation: its messages say whether the user created them."""
    held = mapping(record)
    messages = [message for name in _LISTS for message in mappings(held.get(name))]
    return "conversationId" in held and (
        any("isCreatedByUser" in message for message in messages)
        or (not messages and "endpoint" in held and any(name in held for name in _LISTS))
    )


def _read(path: Path, _asked: ReadOptions) -> Read:
    return each_record(path, "conversation of LibreChat", is_conversation, _session)


def _session(path: Path, _number: int, row: dict[str, Any]) -> Session:
    held = next((messages for name in _LISTS if isinstance(messages := row.get(name), list)), [])
    left_out: Counter[str] = Counter()
    nodes = dict(_flat(held, None, left_out))
    parents = {id_: parent if parent in nodes else None for id_, (parent, _) in nodes.items()}
    is_tree = any(parents.values())
    shown = path_to(parents, None) if is_tree else list(nodes)
    left_out[OTHER_BRANCHES] += len(nodes) - len(shown)
    entries = [entry for id_ in shown for entry in _entries(nodes[id_][1], left_out)]
    options = mapping(row.get("options"))
    about = given({"models": list(filter(None, [word(options.get("model")) or word(row.get("model"))]))})
    id_ = word(row.get("conversationId")) or path.stem
    return Session(id_, path, entries, word(row.get("title")), moment(row.get("createdAt")), about, left_out=+left_out)


def _flat(
    messages: Any, parent: str | None, left_out: Counter[str]
) -> Iterator[tuple[str, tuple[str | None, dict[str, Any]]]]:
    """Yield messages by id, with the id of what they answer: that which they name, or that above them."""
    waiting = [(message, parent) for message in reversed(list(records(messages, left_out)))]
    number = 0
    while waiting:
        message, above = waiting.pop()
        number += 1
        id_ = word(message.get("messageId")) or f"message-{number}"
        named = word(message.get("parentMessageId"))
        yield id_, (named if named and named != _ROOT else above, message)
        waiting += [(child, id_) for child in reversed(list(records(message.get("children"), left_out)))]


def _entries(message: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    role = USER if message.get("isCreatedByUser") else ASSISTANT
    id_, at = word(message.get("messageId")), moment(message.get("createdAt"))
    left_out[ATTACHMENTS] += len(list(mappings(message.get("files"))))
    parts = list(records(message.get("content"), left_out))
    texts: list[str] = []
    for part in parts:
        kind = part.get("type")
        call = mapping(part.get("tool_call"))
        if kind == "text":
            held = part.get("text")
            texts.append(text_of(mapping(held).get("value")) or text_of(held))
        elif call:
            yield ToolCall(
                str(call.get("name")), call.get("args"), text_of(call.get("output")), word(call.get("id")), at
            )
        elif kind == "think":
            left_out[THOUGHTS] += 1
        else:
            left_out[unknown_kind(kind)] += 1
    text = "\n\n".join(filter(None, map(str.strip, texts))) or spoken(message.get("text"), left_out)
    if text:
        yield HistoryMessage(role, text, id_, at)
    elif not parts:
        left_out[WITHOUT_TEXT] += 1


FORMAT: Final = HistoryFormat("librechat", recognise, each(_read))
