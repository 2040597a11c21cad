"""Claude: an export of conversations, or one from the web interface."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, each_record
from querymill_histories.rules.branches import path_to
from querymill_histories.rules.contents import given, mapping, mappings, records, result_of, spoken, word
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

_ROLES: Final = {"human": USER, "user": USER, "assistant": ASSISTANT}
#: The parent of a first message.
_ROOT: Final = "00000000-0000-4000-8000-000000000000"
_THINKING: Final = re.compile(r"<antThinking>.*?(</antThinking>|\Z)", re.DOTALL)
_ARTIFACT: Final = re.compile(r"</?antArtifact[^>]*>")


#: The tool that writes a document beside the chat, and what of its calls holds one.
_ARTIFACTS: Final = "artifacts"
_WHOLE: Final = ("create", "rewrite")
#: Kinds of blocks that are read, beside texts, or that say nothing.
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_READ: Final = ("text", "tool_use", "tool_result", "token_budget", "flag", *_THOUGHTS)


def recognise(head: Head) -> bool:
    """Return whether a file holds conversations of Claude."""
    return any(map(is_conversation, head.records))


def is_conversation(record: Any) -> bool:
    """Return whether an object is a conversation."""
    return isinstance(mapping(record).get("chat_messages"), list)


def _read(path: Path, _asked: ReadOptions) -> Read:
    return each_record(path, "conversation of Claude", is_conversation, _session)


def _session(path: Path, number: int, row: dict[str, Any]) -> Session:
    left_out: Counter[str] = Counter()
    held = list(records(row["chat_messages"], left_out))
    messages = shown_branch(held, row.get("current_leaf_message_uuid"))
    left_out[OTHER_BRANCHES] += len(held) - len(messages)
    entries = [entry for message in messages for entry in _entries(message, left_out)]
    about = given(
        {"models": list(filter(None, [word(row.get("model"))])), "project": mapping(row.get("project")).get("name")}
    )
    id_ = word(row.get("uuid")) or f"{path.stem}-{number}"
    return Session(id_, path, entries, word(row.get("name")), moment(row.get("created_at")), about, left_out=+left_out)


def shown_branch(messages: list[dict[str, Any]], leaf: Any) -> list[dict[str, Any]]:
    """Return the messages that lead to the leaf, by default to the last; all of them where none names its parent.

    Question and answer may have the same time, so their order is that of ``index``, else of the file.
    """
    if all(isinstance(message.get("index"), int) for message in messages):
        messages = sorted(messages, key=lambda message: int(message["index"]))
    by_id = {message["uuid"]: message for message in messages if isinstance(message.get("uuid"), str)}
    if not any(message.get("parent_message_uuid") in by_id for message in messages):
        return messages
    named = {id_: message.get("parent_message_uuid") for id_, message in by_id.items()}
    parents = {id_: parent if parent != _ROOT else None for id_, parent in named.items()}
    first = {parent for parent in parents.values() if parent not in by_id}
    if len(first) == 1:  # what all branches begin with is the root, however it is called
        parents = {id_: None if parent in first else parent for id_, parent in parents.items()}
    return [by_id[id_] for id_ in path_to(parents, leaf if leaf in by_id else messages[-1].get("uuid"))]


def _entries(message: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    role, at = _ROLES.get(str(message.get("sender"))), moment(message.get("created_at"))
    if role is None:
        left_out[f"messages of the sender {str(message.get('sender'))[:60]!r}"] += 1
        return
    content = message.get("content")
    blocks = list(mappings(content))
    texts = [spoken(block.get("text"), left_out) for block in blocks if block.get("type") == "text"]
    if not blocks:
        texts = [spoken(message.get("text"), left_out)]
    results = {
        block.get("tool_use_id"): result_of(block.get("content"))
        for block in blocks
        if block.get("type") == "tool_result"
    }
    for block in blocks:
        kind, input_ = block.get("type"), mapping(block.get("input"))
        left_out[THOUGHTS] += kind in _THOUGHTS
        if kind == "tool_use" and block.get("name") == _ARTIFACTS and input_.get("command") in _WHOLE:
            texts += ["\n\n".join(filter(None, (word(input_.get("title")), word(input_.get("content")))))]
        elif kind == "tool_use":
            id_ = word(block.get("id"))
            yield ToolCall(str(block.get("name")), block.get("input"), results.get(id_, ""), id_, at)
        elif kind not in _READ:
            left_out[unknown_kind(kind)] += 1
    if text := "\n\n".join(filter(None, map(_visible, texts))):
        yield HistoryMessage(role, text, word(message.get("uuid")), at)
    attached = list(_attached(message, role, at, left_out))
    has_files = any(message.get(name) for name in ("attachments", "files", "files_v2"))
    left_out[WITHOUT_TEXT] += not (text or blocks or attached or has_files)
    yield from attached


def _attached(
    message: dict[str, Any], role: str, at: datetime | None, left_out: Counter[str]
) -> Iterator[HistoryMessage]:
    """Yield the texts that are attached: files, and what was pasted, which has no name. Other files are counted."""
    for attached in mappings(message.get("attachments")):
        name, text = word(attached.get("file_name")), word(attached.get("extracted_content"))
        if text:
            yield HistoryMessage(role, f"{name}\n\n{text}" if name else text, word(message.get("uuid")), at)
        else:
            left_out[ATTACHMENTS] += 1
    read = {attached.get("file_name") for attached in mappings(message.get("attachments"))}
    files = list(mappings(message.get("files_v2"))) or list(mappings(message.get("files")))
    left_out[ATTACHMENTS] += sum(file.get("file_name") not in read for file in files)


def _visible(text: str) -> str:
    """Return a text without hidden thoughts; an artifact is text that is shown beside it."""
    return _ARTIFACT.sub("", _THINKING.sub("", text)).strip()


FORMAT: Final = HistoryFormat("claude", recognise, each(_read))
