"""Gemini CLI: a JSON file for each session, in newer versions of JSON lines, and chats that were saved by name."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import each, head_of, object_of, taken
from querymill_histories.formats.gemini_saved import is_saved, read_saved
from querymill_histories.rules.contents import given, mapping, mappings, records, result_of, spoken, word
from querymill_histories.rules.copies import one_each
from querymill_histories.rules.injected import typed
from querymill_histories.rules.remarks import INJECTED, SYSTEM_LINES, THOUGHTS, UNDONE
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
    left_out: Counter[str] = Counter()
    if plain_name(path).suffix == ".jsonl":
        whole: dict[str, Any] = {"messages": []}
        yield from taken(path, lambda _, row: _take(row, whole, left_out))
    else:
        lost: list[UnreadPlace] = []
        whole = mapping(object_of(path, lost))
        yield from lost
    if whole.get("kind") != "subagent":
        messages = _last_versions(records(whole.get("messages"), left_out))
        entries = [entry for message in messages for entry in _entries(message, left_out)]
        models = dict.fromkeys(filter(None, (word(message.get("model")) for message in messages)))
        about = given({"project_hash": whole.get("projectHash"), "models": list(models)})
        id_ = word(whole.get("sessionId")) or path.stem
        started = moment(whole.get("startTime"))
        yield Session(id_, path, entries, word(whole.get("summary")), started, about, left_out=+left_out)


def _take(row: dict[str, Any], whole: dict[str, Any], left_out: Counter[str]) -> None:
    """Apply a line: a message, fields that are set, or a message to go back to."""
    messages: list[dict[str, Any]] = whole["messages"]
    if "$set" in row:
        whole.update({name: value for name, value in mapping(row["$set"]).items() if name != "messages"} | _listed(row))
    elif "$rewindTo" in row:
        ids = [message.get("id") for message in messages]
        # The tool does the same with a message that is lost: it begins again.
        back_to = ids.index(row["$rewindTo"]) if row["$rewindTo"] in ids else 0
        left_out[UNDONE] += len(messages) - back_to
        del messages[back_to:]
    elif "sessionId" in row:
        whole.update({name: value for name, value in row.items() if name != "messages"})
    else:
        messages.append(row)


def _listed(row: dict[str, Any]) -> dict[str, Any]:
    """Return the messages that a line sets, if it sets any."""
    messages = mapping(row["$set"]).get("messages")
    return {"messages": messages} if isinstance(messages, list) else {}


def _last_versions(messages: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages, of several with one id the last."""
    found = {word(message.get("id")) or f"#{number}": message for number, message in enumerate(messages)}
    return list(found.values())


def _entries(message: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    role, at, id_ = _ROLES.get(str(message.get("type"))), moment(message.get("timestamp")), word(message.get("id"))
    if role is None:
        left_out[SYSTEM_LINES] += 1
        return
    left_out[THOUGHTS] += bool(message.get("thoughts"))
    whole = spoken(message.get("displayContent") or message.get("content"), left_out)
    text = typed(whole.partition(_REFERENCED)[0]) if role == USER else whole
    left_out[INJECTED] += role == USER and text != whole
    if text:
        yield HistoryMessage(role, text, id_, at)
    for call in records(message.get("toolCalls"), left_out):
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
