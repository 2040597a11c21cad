"""Claude: an export of conversations, or one from the web interface."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, elements_of
from querymill_histories.rules.contents import given, mapping, mappings, result_of, word
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
    UnreadPlace,
)

_ROLES: Final = {"human": USER, "user": USER, "assistant": ASSISTANT}
_THINKING: Final = re.compile(r"<antThinking>.*?(</antThinking>|\Z)", re.DOTALL)
_ARTIFACT: Final = re.compile(r"</?antArtifact[^>]*>")


def recognise(head: Head) -> bool:
    """Return whether a file holds conversations of Claude."""
    packed = head.packed
    return packed.startswith(("[{", "{")) and '"chat_messages":[' in packed


def _read(path: Path, _asked: ReadOptions) -> Read:
    for number, conversation in enumerate(elements_of(path), 1):
        if isinstance(conversation, dict) and isinstance(conversation.get("chat_messages"), list):
            yield _session(path, number, conversation)
        else:
            yield UnreadPlace(f"{path}: conversation {number}", "no conversation of Claude")


def _session(path: Path, number: int, row: dict[str, Any]) -> Session:
    messages = shown_branch(list(mappings(row["chat_messages"])), row.get("current_leaf_message_uuid"))
    entries = [entry for message in messages for entry in _entries(message)]
    about = given(
        {"models": list(filter(None, [word(row.get("model"))])), "project": mapping(row.get("project")).get("name")}
    )
    id_ = word(row.get("uuid")) or f"{path.stem}-{number}"
    return Session(id_, path, entries, word(row.get("name")), moment(row.get("created_at")), about)


def shown_branch(messages: list[dict[str, Any]], leaf: Any) -> list[dict[str, Any]]:
    """Return the messages that lead to the leaf, by default to the last; all of them where none names its parent.

    Question and answer may have the same time, so their order is that of ``index``, else of the file.
    """
    if all(isinstance(message.get("index"), int) for message in messages):
        messages = sorted(messages, key=lambda message: int(message["index"]))
    by_id = {message["uuid"]: message for message in messages if isinstance(message.get("uuid"), str)}
    if not any(message.get("parent_message_uuid") in by_id for message in messages):
        return messages
    node = leaf if leaf in by_id else messages[-1].get("uuid")
    path: list[dict[str, Any]] = []
    while node in by_id and by_id[node] not in path:
        path.append(by_id[node])
        node = by_id[node].get("parent_message_uuid")
    return path[::-1]


def _entries(message: dict[str, Any]) -> Iterator[HistoryMessage | ToolCall]:
    role, at = _ROLES.get(str(message.get("sender"))), moment(message.get("created_at"))
    if role is None:
        return
    content = message.get("content")
    blocks = list(mappings(content))
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    if not blocks:
        texts = [str(message.get("text") or "")]
    results = {
        block.get("tool_use_id"): result_of(block.get("content"))
        for block in blocks
        if block.get("type") == "tool_result"
    }
    for block in blocks:
        if block.get("type") == "tool_use":
            id_ = word(block.get("id"))
            yield ToolCall(str(block.get("name")), block.get("input"), results.get(id_, ""), id_, at)
    if text := "\n\n".join(filter(None, map(_visible, texts))):
        yield HistoryMessage(role, text, word(message.get("uuid")), at)


def _visible(text: str) -> str:
    """Return a text without hidden thoughts; an artifact is text that is shown beside it."""
    return _ARTIFACT.sub("", _THINKING.sub("", text)).strip()


FORMAT: Final = HistoryFormat("claude", recognise, each(_read))
