"""Gemini CLI: a JSON file for each session, in newer versions of JSON lines, and chats that were saved by name."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, head_of, lines_of, object_of
from querymill_histories.formats.gemini_saved import is_saved, read_saved
from querymill_histories.rules.contents import given, mapping, mappings, result_of, text_of, word
from querymill_histories.rules.copies import one_each
from querymill_histories.rules.injected import typed
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

_ROLES: Final = {"user": USER, "gemini": ASSISTANT}
#: What follows was read from files that the person named.
_REFERENCED: Final = "\n--- Content from referenced files ---"


def recognise(head: Head) -> bool:
    """Return whether a file is a chat of Gemini CLI."""
    first = head.packed[:4_000]
    return is_saved(head) or (first.startswith("{") and '"sessionId":' in first and '"projectHash":' in first)


def _read(path: Path, _asked: ReadOptions) -> Read:
    if is_saved(head_of(path)):
        yield read_saved(path)
        return
    if path.suffix == ".jsonl":
        whole: dict[str, Any] = {"messages": []}
        for line in lines_of(path):
            if isinstance(line, UnreadPlace):
                yield line
            else:
                _take(line[1], whole)
    else:
        whole = mapping(object_of(path))
    if whole.get("kind") != "subagent":
        messages = _last_versions(mappings(whole.get("messages")))
        entries = [entry for message in messages for entry in _entries(message)]
        models = dict.fromkeys(filter(None, (word(message.get("model")) for message in messages)))
        about = given({"project_hash": whole.get("projectHash"), "models": list(models)})
        id_ = word(whole.get("sessionId")) or path.stem
        yield Session(id_, path, entries, word(whole.get("summary")), moment(whole.get("startTime")), about)


def _take(row: dict[str, Any], whole: dict[str, Any]) -> None:
    """Apply a line: a message, fields that are set, or a message to go back to."""
    messages: list[dict[str, Any]] = whole["messages"]
    if "$set" in row:
        whole.update(mapping(row["$set"]))
    elif "$rewindTo" in row:
        ids = [message.get("id") for message in messages]
        # The tool does the same with a message that is lost: it begins again.
        del messages[ids.index(row["$rewindTo"]) if row["$rewindTo"] in ids else 0 :]
    elif "sessionId" in row:
        whole.update({name: value for name, value in row.items() if name != "messages"})
    else:
        messages.append(row)


def _last_versions(messages: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages, of several with one id the last."""
    found = {message.get("id") or f"#{number}": message for number, message in enumerate(messages)}
    return list(found.values())


def _entries(message: dict[str, Any]) -> Iterator[HistoryMessage | ToolCall]:
    role, at, id_ = _ROLES.get(str(message.get("type"))), moment(message.get("timestamp")), word(message.get("id"))
    if role is None:
        return
    text = text_of(message.get("displayContent") or message.get("content"))
    text = typed(text.partition(_REFERENCED)[0]) if role == USER else text.strip()
    if text:
        yield HistoryMessage(role, text, id_, at)
    for call in mappings(message.get("toolCalls")):
        yield ToolCall(
            str(call.get("name")), call.get("args"), _result(call), word(call.get("id")), moment(call.get("timestamp"))
        )


def _result(call: dict[str, Any]) -> str:
    responses = [mapping(part.get("functionResponse")).get("response") for part in mappings(call.get("result"))]
    return "\n".join(result_of(mapping(response).get("output", response)) for response in responses if response)


def read(paths: Sequence[Path], asked: ReadOptions) -> Read:
    """Read chats; a session in several files is one."""
    sessions: list[Session] = []
    for found in each(_read)(paths, asked):
        if isinstance(found, Session):
            sessions.append(found)
        else:
            yield found
    yield from one_each(sessions)


FORMAT: Final = HistoryFormat(
    "gemini", recognise, read, homes=(".gemini/tmp/*/chats", ".gemini/tmp/*/checkpoint*.json")
)
