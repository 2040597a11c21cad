"""Copilot CLI: a file of events for each session, in a folder of its own, or in older versions beside the others."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import each, lines_of
from querymill_histories.rules.contents import given, mapping, mappings, result_of, word
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


def recognise(head: Head) -> bool:
    """Return whether a file holds the events of a session."""
    first = head.packed[:2_000]
    return first.startswith("{") and '"type":"session.start"' in first and '"data":{' in first


def _read(path: Path, _asked: ReadOptions) -> Read:
    about: dict[str, Any] = {}
    models: dict[str, None] = {}
    results: dict[str, str] = {}
    entries: list[HistoryMessage | ToolCall] = []
    name = plain_name(path)
    id_: str | None = name.parent.name if name.name == "events.jsonl" else name.stem
    started: Any = None
    for line in lines_of(path):
        if isinstance(line, UnreadPlace):
            yield line
            continue
        number, row = line
        event, kind = mapping(row.get("data")), row.get("type")
        if kind == "session.start":
            context = mapping(event.get("context"))
            id_, started = word(event.get("sessionId")) or id_, event.get("startTime") or row.get("timestamp")
            about = given({
                "cwd": context.get("cwd"), "branch": context.get("branch"), "repository": context.get("repository"),
                "tool_version": event.get("copilotVersion"),
            })  # fmt: skip
        elif kind == "tool.execution_complete":
            results[str(event.get("toolCallId"))] = result_of(mapping(event.get("result")).get("content"))
        elif not event.get("parentToolCallId"):  # else an agent said it to another
            entries += _entries(number, row, str(kind), event)
        if kind == "assistant.message" and (model := word(event.get("model"))):
            models[model] = None
    told = [
        replace(entry, result=results.get(entry.id or "", "")) if isinstance(entry, ToolCall) else entry
        for entry in entries
    ]
    yield Session(id_ or path.stem, path, told, None, moment(started), about | given({"models": list(models)}))


def _entries(number: int, row: dict[str, Any], kind: str, event: dict[str, Any]) -> Iterator[HistoryMessage | ToolCall]:
    at, text = moment(row.get("timestamp")), str(event.get("content") or "").strip()
    if kind == "user.message" and (text := typed(text)):
        yield HistoryMessage(USER, text, word(row.get("id")), at, number)
    elif kind == "assistant.message":
        if text:
            yield HistoryMessage(ASSISTANT, text, word(event.get("messageId")) or word(row.get("id")), at, number)
        for call in mappings(event.get("toolRequests")):
            yield ToolCall(str(call.get("name")), call.get("arguments"), "", word(call.get("toolCallId")), at, number)


FORMAT: Final = HistoryFormat("copilot-cli", recognise, each(_read), homes=(".copilot/session-state",))
