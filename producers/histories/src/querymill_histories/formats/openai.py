"""Messages as the providers' interfaces have them, ``{"role": …, "content": …}``: lists, lines, logs of requests."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import open_plain
from querymill_histories.files import each, elements_of, lines_of
from querymill_histories.rules.contents import given, mapping, mappings, result_of, text_of, word
from querymill_histories.rules.remarks import ATTACHMENTS, THOUGHTS, WITHOUT_TEXT, unknown_kind
from querymill_histories.rules.times import moment
from querymill_histories.session import (
    ASSISTANT,
    TOOL,
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

_ROLES: Final = ("user", "assistant", "system", "developer", "tool", "function")
_HIDDEN: Final = ("system", "developer")
#: Those of data sets for training, ``{"from": "human", "value": …}``.
_OTHER_ROLES: Final = {"human": USER, "gpt": ASSISTANT, "system": "system", "user": USER, "assistant": ASSISTANT,
                       "function_call": ASSISTANT, "observation": TOOL, "tool": TOOL}  # fmt: skip
_LISTS: Final = ("messages", "conversations", "conversation", "input")
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning")
_TEXTS: Final = ("text", "input_text", "output_text")
_FILES: Final = (
    "image_url",
    "input_image",
    "image",
    "input_audio",
    "audio",
    "file",
    "input_file",
    "document",
    "video_url",
)
_LINES_LOOKED_AT: Final = 5
#: Fields of a line that other formats have: they are recognised before, and their lines are no messages.
_OF_OTHERS: Final = ("uuid", "sessionId", "session_id", "text", "ts")


def recognise(head: Head) -> bool:
    """Return whether a file holds messages with a role and a content, or lists of them."""
    records = head.records
    return bool(records) and any(is_message(record) or _messages_in(record) is not None for record in records)


def is_message(value: Any) -> bool:
    """Return whether an object is a message."""
    row = mapping(value)
    if any(name in row for name in _OF_OTHERS):
        return False
    has_content = isinstance(row.get("content"), str | list) or "tool_calls" in row or "function_call" in row
    return (word(row.get("role")) in _ROLES and has_content) or (
        word(row.get("from")) in _OTHER_ROLES and isinstance(row.get("value"), str)
    )


def _messages_in(record: dict[str, Any]) -> list[Any] | None:
    """Return the messages of a conversation or of a request, with the answer to it."""
    for within in (record, mapping(record.get("request")), mapping(record.get("body"))):
        for name in _LISTS:
            held = within.get(name)
            if isinstance(held, list) and any(map(is_message, held)):
                return [*held, *_answers(record)]
    return None


def _answers(record: dict[str, Any]) -> Iterator[Any]:
    for within in (record, mapping(record.get("response")), mapping(mapping(record.get("response")).get("body"))):
        yield from (choice["message"] for choice in islice(mappings(within.get("choices")), 1) if "message" in choice)


def _read(path: Path, asked: ReadOptions) -> Read:
    loose: list[tuple[int | None, dict[str, Any]]] = []
    for number, line, row in _rows(path):
        messages = _messages_in(row) if isinstance(row, dict) else None
        if isinstance(row, UnreadPlace):
            yield row
        elif isinstance(row, list) and any(map(is_message, row)):
            yield _session(path, number, {}, [(line, message) for message in row], asked)
        elif is_message(row):
            loose.append((line, row))
        elif messages is not None:
            yield _session(path, number, row, [(line, message) for message in messages], asked)
        else:
            yield UnreadPlace(
                f"{path}: record {number}", "neither a message with a role and a content nor a list of them"
            )
    if loose:
        yield _session(path, None, {}, loose, asked)


def _rows(path: Path) -> Iterator[tuple[int, int | None, Any]]:
    """Yield the records of a file with their numbers, and those of their lines where it has one for each."""
    if _has_lines(path):
        for number, found in enumerate(lines_of(path), 1):
            line, row = (None, found) if isinstance(found, UnreadPlace) else found
            yield number, line, row
    else:
        for number, row in enumerate(elements_of(path), 1):
            yield number, None, row


def _has_lines(path: Path) -> bool:
    """Return whether a file is JSON lines: one of its first is a whole object."""
    with open_plain(path) as file:
        for _ in range(_LINES_LOOKED_AT):
            line = file.readline(64 << 20).strip()
            try:
                if isinstance(json.loads(line), dict):
                    return True
            except (ValueError, RecursionError):
                if line.startswith(b"["):
                    return False
    return False


def _session(
    path: Path, number: int | None, row: dict[str, Any], messages: list[tuple[int | None, Any]], asked: ReadOptions
) -> Session:
    left_out: Counter[str] = Counter()
    results = {word(mapping(message).get("tool_call_id")): result_of(mapping(message).get("content"))
               for _, message in messages if mapping(message).get("role") == TOOL}  # fmt: skip
    entries = [
        entry for line, message in messages for entry in _entries(mapping(message), line, results, left_out, asked)
    ]
    about = given({"models": list(filter(None, [word(row.get("model"))]))})
    id_ = (
        word(row.get("id")) or word(row.get("custom_id")) or (path.stem if number is None else f"{path.stem}-{number}")
    )
    name = word(row.get("title")) or word(row.get("name")) or path.stem
    at = next(
        (found for key in ("created_at", "created", "timestamp") if (found := moment(row.get(key), asked.zone))), None
    )
    return Session(id_, path, entries, name, at, about, left_out=+left_out)


def _entries(
    message: dict[str, Any],
    line: int | None,
    results: dict[str | None, str],
    left_out: Counter[str],
    asked: ReadOptions,
) -> Iterator[HistoryMessage | ToolCall]:
    role = str(message.get("role") or _OTHER_ROLES.get(str(message.get("from"))) or "unknown")
    at = moment(message.get("created_at") or message.get("timestamp"), asked.zone)
    if role in _HIDDEN:
        left_out["instructions of the system"] += 1
        return
    if role in (TOOL, "function"):
        left_out["tool results without a call"] += not message.get("tool_call_id")
        return
    content = message.get("content", message.get("value"))
    left_out[THOUGHTS] += bool(message.get("reasoning_content") or message.get("reasoning"))
    text = "\n\n".join(filter(None, (part.strip() for part in _texts(content, left_out))))
    if text:
        yield HistoryMessage(role, text, word(message.get("id")), at, line)
    calls = list(_calls(message, results, line))
    yield from calls
    if not (text or calls or isinstance(content, list)):
        left_out[WITHOUT_TEXT] += 1


def _texts(content: Any, left_out: Counter[str]) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        kind = mapping(part).get("type")
        if isinstance(part, str):
            yield part
        elif kind in _TEXTS or (kind is None and "text" in mapping(part)):
            yield text_of(mapping(part).get("text"))
        elif kind == "refusal":
            yield text_of(mapping(part).get("refusal"))
        elif kind in _FILES:
            left_out[ATTACHMENTS] += 1
        elif kind in _THOUGHTS:
            left_out[THOUGHTS] += 1
        elif (part is not None or isinstance(content, list)) and kind not in ("tool_use", "tool_result"):
            left_out[unknown_kind(kind)] += 1


def _calls(message: dict[str, Any], results: dict[str | None, str], line: int | None) -> Iterator[ToolCall]:
    for call in mappings(message.get("tool_calls")):
        told, id_ = mapping(call.get("function")) or call, word(call.get("id"))
        yield ToolCall(str(told.get("name")), told.get("arguments"), results.get(id_, ""), id_, None, line)
    if called := mapping(message.get("function_call")):
        yield ToolCall(str(called.get("name")), called.get("arguments"), "", None, None, line)
    for part in mappings(message.get("content")):
        if part.get("type") == "tool_use":
            yield ToolCall(str(part.get("name")), part.get("input"), "", word(part.get("id")), None, line)


FORMAT: Final = HistoryFormat("openai", recognise, each(_read))
