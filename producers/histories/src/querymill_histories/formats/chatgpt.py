"""ChatGPT: an export of conversations, each a tree of messages."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, each_record
from querymill_histories.rules.branches import shown_nodes
from querymill_histories.rules.contents import given, mapping, spoken, text_of, word
from querymill_histories.rules.remarks import (
    ATTACHMENTS,
    HIDDEN,
    INSTRUCTIONS,
    OTHER_BRANCHES,
    THOUGHTS,
    WITHOUT_TEXT,
    unknown_kind,
)
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

#: Kinds of content that are shown as messages, and those that are thoughts or settings.
_SHOWN: Final = ("text", "multimodal_text")
_THOUGHTS: Final = ("thoughts", "reasoning_recap")
_SETTINGS: Final = ("user_editable_context", "model_editable_context")
_CODE: Final = ("code", "execution_output")
#: Parts of a content that are no text.
_OBJECTS: Final = re.compile(r".*_asset_pointer")
#: Stands for a link that the page draws: characters for private use around its name.
_CITATION: Final = re.compile("\ue200[^\ue200\ue201]*\ue201")
#: How a tool says what the frame of a research task shows, and the tool that writes a document beside the chat.
_FRAME: Final = "The latest state of the widget is:"
_CANVAS: Final = "canmore.create_textdoc"


def recognise(head: Head) -> bool:
    """Return whether a file holds conversations of ChatGPT."""
    return any(is_conversation(record) for record in head.records)


def is_conversation(record: Any) -> bool:
    """Return whether an object is a conversation: a tree whose messages have an author.

    DeepSeek's are trees as well; their messages have fragments and no author.
    """
    nodes = mapping(record).get("mapping")
    if not isinstance(nodes, dict) or "inserted_at" in record:
        return False
    messages = [message for node in nodes.values() if (message := mapping(mapping(node).get("message")))]
    has_author = any("author" in message for message in messages)
    return has_author or (not messages and ("current_node" in record or "create_time" in record or "title" in record))


def _read(path: Path, _asked: ReadOptions) -> Read:
    return each_record(path, "conversation of ChatGPT", is_conversation, _session)


def _session(path: Path, number: int, row: dict[str, Any]) -> Session:
    nodes = row["mapping"]
    shown = shown_nodes(nodes, row.get("current_node"))
    left_out: Counter[str] = Counter()
    entries = [entry for node in shown for entry in _entries(nodes, node, left_out)]
    others = [node for node in nodes.keys() - set(shown) if _is_said(_message(nodes, node))]
    left_out[OTHER_BRANCHES] += len(others)
    models = [word(mapping(_message(nodes, node).get("metadata")).get("model_slug")) for node in nodes]
    about = given(
        {"models": list(dict.fromkeys(filter(None, models))), "project": word(row.get("conversation_template_id"))}
    )
    id_ = word(row.get("conversation_id")) or word(row.get("id")) or f"{path.stem}-{number}"
    title, at = word(row.get("title")), moment(row.get("create_time"))
    return Session(id_, path, entries, title, at, about, left_out=+left_out)


def _message(nodes: dict[str, Any], node: str) -> dict[str, Any]:
    return mapping(mapping(nodes[node]).get("message"))


def _is_said(message: dict[str, Any]) -> bool:
    role = mapping(message.get("author")).get("role")
    return role in (USER, ASSISTANT) and mapping(message.get("content")).get("content_type") in _SHOWN


def _entries(nodes: dict[str, Any], node: str, left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    message = _message(nodes, node)
    content, metadata = mapping(message.get("content")), mapping(message.get("metadata"))
    id_, at = word(message.get("id")) or node, moment(message.get("create_time"))
    if report := _research(message, metadata):
        yield HistoryMessage(ASSISTANT, report, id_, at)
    elif metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0:
        left_out[HIDDEN] += _is_said(message) and bool(_text(content, Counter()))
    elif message:
        yield from _shown(message, content, metadata, HistoryMessage("", "", id_, at), left_out)


def _shown(
    message: dict[str, Any],
    content: dict[str, Any],
    metadata: dict[str, Any],
    place: HistoryMessage,
    left_out: Counter[str],
) -> Iterator[HistoryMessage | ToolCall]:
    """Yield what is shown of a message. ``place`` has its id and its time."""
    files = _attachments(content, metadata)
    left_out[ATTACHMENTS] += files
    author, text = mapping(message.get("author")), _text(content, left_out)
    role, recipient = author.get("role"), message.get("recipient")
    if role == "tool":
        yield ToolCall(str(author.get("name") or role), None, text, place.id, place.at)
    elif role == ASSISTANT and recipient not in (None, "all"):
        if document := _document(recipient, text):
            yield replace(place, role=ASSISTANT, text=document)
        else:
            yield ToolCall(str(recipient), text, "", place.id, place.at)
    elif role == "system":
        left_out[INSTRUCTIONS] += bool(text)
    elif role not in (USER, ASSISTANT):
        left_out[f"messages of the role {str(role)[:60]!r}"] += 1
    elif _is_shown(str(content.get("content_type")), text, left_out, has_files=files > 0):
        yield replace(place, role=str(role), text=text)


def _is_shown(kind: str, text: str, left_out: Counter[str], *, has_files: bool) -> bool:
    """Return whether a content is shown as a message. What is not is counted."""
    if kind in _SHOWN:
        left_out[WITHOUT_TEXT] += not (text or has_files)
        return bool(text)
    if kind in _THOUGHTS:
        left_out[THOUGHTS] += 1
    elif kind not in _SETTINGS:
        if text and kind not in _CODE:
            return True
        left_out[unknown_kind(kind)] += 1
    return False


def _attachments(content: dict[str, Any], metadata: dict[str, Any]) -> int:
    """Return how many files a message has: pictures stand among its parts, and most are listed as well."""
    listed = metadata.get("attachments")
    parts = content.get("parts")
    pointers = [part for part in parts if _OBJECTS.fullmatch(str(mapping(part).get("content_type")))] if isinstance(
        parts, list) else []  # fmt: skip
    return max(len(listed) if isinstance(listed, list) else 0, len(pointers))


def _research(message: dict[str, Any], metadata: dict[str, Any]) -> str:
    """Return the report of a research task. It is shown in a frame, whose state is kept in a message of a tool."""
    text = _text(mapping(message.get("content")), Counter())
    states = [mapping(metadata.get("chatgpt_sdk")).get("widget_state")]
    if text.startswith(_FRAME):
        states.append(text.removeprefix(_FRAME).strip())
    for state in states:
        report = mapping(mapping(_from_json(state)).get("report_message"))
        if found := _text(mapping(report.get("content")), Counter()):
            return found
    return ""


def _document(recipient: Any, text: str) -> str:
    """Return a document that is written beside the chat: its name above its text."""
    written = mapping(_from_json(text)) if recipient == _CANVAS else {}
    return "\n\n".join(filter(None, (word(written.get("name")), word(written.get("content")))))


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return None


def _text(content: dict[str, Any], left_out: Counter[str]) -> str:
    """Return the text of a content: its parts are texts, and objects such as pictures or a dictation."""
    parts = content.get("parts")
    if isinstance(parts, list):
        told = [part if isinstance(part, str) else text_of(part) or word(part) or "" for part in parts]
        return _CITATION.sub("", "\n".join(filter(None, told))).strip()
    return _CITATION.sub("", spoken(content.get("text") or content.get("result"), left_out)).strip()


FORMAT: Final = HistoryFormat("chatgpt", recognise, each(_read))
