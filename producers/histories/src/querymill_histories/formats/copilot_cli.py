"""Copilot CLI: a file of events for each session, in a folder of its own, or in older versions beside the others."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import each, taken
from querymill_histories.rules.contents import given, mapping, mappings, result_of, spoken, word
from querymill_histories.rules.injected import typed
from querymill_histories.rules.remarks import ATTACHMENTS, INJECTED, OF_AGENTS, THOUGHTS
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

_SPOKEN: Final = ("user.message", "assistant.message")


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
    left_out: Counter[str] = Counter()

    def take(number: int, row: dict[str, Any]) -> None:
        nonlocal id_, started, about
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
        elif event.get("parentToolCallId"):  # an agent said it to another
            left_out[OF_AGENTS] += kind in _SPOKEN
        else:
            entries.extend(_entries(number, row, str(kind), event, left_out))
        if kind == "assistant.message" and (model := word(event.get("model"))):
            models[model] = None

    yield from taken(path, take)
    told = [
        replace(entry, result=results.get(entry.id or "", "")) if isinstance(entry, ToolCall) else entry
        for entry in entries
    ]
    about |= given({"models": list(models)})
    yield Session(id_ or name.stem, path, told, None, moment(started), about, left_out=+left_out)


def _entries(
    number: int, row: dict[str, Any], kind: str, event: dict[str, Any], left_out: Counter[str]
) -> Iterator[HistoryMessage | ToolCall]:
    at, text = moment(row.get("timestamp")), spoken(event.get("content"), left_out)
    if kind == "user.message":
        left_out[ATTACHMENTS] += len(list(mappings(event.get("attachments"))))
        left_out[INJECTED] += bool(text) and not typed(text)
        if text := typed(text):
            yield HistoryMessage(USER, text, word(row.get("id")), at, number)
    elif kind == "assistant.message":
        left_out[THOUGHTS] += bool(event.get("reasoningText") or event.get("reasoningOpaque"))
        if text:
            yield HistoryMessage(ASSISTANT, text, word(event.get("messageId")) or word(row.get("id")), at, number)
        for call in mappings(event.get("toolRequests")):
            yield ToolCall(str(call.get("name")), call.get("arguments"), "", word(call.get("toolCallId")), at, number)


FORMAT: Final = HistoryFormat("copilot-cli", recognise, each(_read), homes=(".copilot/session-state",))
