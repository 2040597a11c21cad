"""ChatGPT: an export of conversations, each a tree of messages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, elements_of
from querymill_histories.rules.contents import given, mapping, text_of, word
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

#: Kinds of content that are shown as messages.
_SHOWN: Final = ("text", "multimodal_text")
#: Stands for a link that the page draws: characters for private use around its name.
_CITATION: Final = re.compile("\ue200[^\ue200\ue201]*\ue201")


def recognise(head: Head) -> bool:
    """Return whether a file holds conversations of ChatGPT."""
    packed = head.packed
    return packed.startswith(("[{", "{")) and '"mapping":{' in packed and '"title":' in packed


def _read(path: Path, _asked: ReadOptions) -> Read:
    for number, conversation in enumerate(elements_of(path), 1):
        if isinstance(conversation, dict) and isinstance(conversation.get("mapping"), dict):
            yield _session(path, number, conversation)
        else:
            yield UnreadPlace(f"{path}: conversation {number}", "no conversation of ChatGPT")


def _session(path: Path, number: int, row: dict[str, Any]) -> Session:
    mapping_ = row["mapping"]
    entries = [entry for node in path_to(mapping_, row.get("current_node")) for entry in _entries(mapping_, node)]
    models = [word(_message(mapping_, node).get("metadata", {}).get("model_slug")) for node in mapping_
              if isinstance(_message(mapping_, node).get("metadata"), dict)]  # fmt: skip
    about = given(
        {"models": list(dict.fromkeys(filter(None, models))), "project": word(row.get("conversation_template_id"))}
    )
    id_ = word(row.get("conversation_id")) or word(row.get("id")) or f"{path.stem}-{number}"
    return Session(id_, path, entries, word(row.get("title")), moment(row.get("create_time")), about)


def path_to(nodes: dict[str, Any], current: Any) -> list[str]:
    """Return the nodes from the root to the current one. Without one, the newest answers are followed."""
    node = current if isinstance(current, str) and current in nodes else _newest_leaf(nodes)
    found: list[str] = []
    while isinstance(node, str) and node in nodes and node not in found:
        found.append(node)
        node = mapping(nodes[node]).get("parent")
    return found[::-1]


def _newest_leaf(nodes: dict[str, Any]) -> str | None:
    node = next((id_ for id_, node in nodes.items() if not mapping(node).get("parent")), None)
    seen: set[str] = set()
    while node is not None and node not in seen:
        seen.add(node)
        children = [child for child in mapping(nodes[node]).get("children") or () if child in nodes]
        if not children:
            return node
        node = children[-1]
    return node


def _message(nodes: dict[str, Any], node: str) -> dict[str, Any]:
    return mapping(mapping(nodes[node]).get("message"))


def _entries(nodes: dict[str, Any], node: str) -> Iterator[HistoryMessage | ToolCall]:
    message = _message(nodes, node)
    content, role = mapping(message.get("content")), mapping(message.get("author")).get("role")
    hidden = mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    if hidden or not message:
        return
    id_, at = word(message.get("id")) or node, moment(message.get("create_time"))
    text = _text(content)
    if role == "tool":
        yield ToolCall(str(mapping(message.get("author")).get("name") or role), None, text, id_, at)
    elif role == ASSISTANT and message.get("recipient") not in (None, "all"):
        yield ToolCall(str(message.get("recipient")), text, "", id_, at)
    elif role in (USER, ASSISTANT) and content.get("content_type") in _SHOWN and text:
        yield HistoryMessage(str(role), text, id_, at)


def _text(content: dict[str, Any]) -> str:
    """Return the text of a content: its parts are texts, and objects such as pictures or a dictation."""
    parts = content.get("parts")
    if isinstance(parts, list):
        return _CITATION.sub("", "\n".join(filter(None, map(text_of, parts)))).strip()
    return str(content.get("text") or "").strip()


FORMAT: Final = HistoryFormat("chatgpt", recognise, each(_read))
