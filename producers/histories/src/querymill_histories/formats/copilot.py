"""Copilot Chat: a session as VS Code stores or exports it, in newer versions as a log of changes."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import each, lines_of, object_of
from querymill_histories.rules.contents import given, mapping, mappings, records, text_of, word
from querymill_histories.rules.remarks import ATTACHMENTS, THOUGHTS, UNDONE
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

#: What a line of the log does: set all, set a field, add to a list, delete a field.
_ALL, _SET, _PUSH, _DELETE = range(4)


def recognise(head: Head) -> bool:
    """Return whether a file is a session of Copilot Chat."""
    first = head.packed[:8_000]
    if first.startswith('{"kind":0,"v":{'):
        return '"requests":' in head.packed or '"sessionId":' in head.packed
    return first.startswith("{") and '"responderUsername":' in head.packed and '"requests":' in head.packed


def _read(path: Path, _asked: ReadOptions) -> Read:
    whole: Any = {}
    if plain_name(path).suffix == ".jsonl":
        for line in lines_of(path):
            if isinstance(line, UnreadPlace):
                yield line
                continue
            try:
                whole = applied(whole, line[1])
            except (KeyError, IndexError, TypeError, AttributeError):
                yield UnreadPlace(f"{path}:{line[0]}", "changes what is not there")
    else:
        lost: list[UnreadPlace] = []
        whole = object_of(path, lost)
        yield from lost
    whole = mapping(whole)
    left_out: Counter[str] = Counter()
    held = list(records(whole.get("requests"), left_out))
    requests = [request for request in held if not is_undone(request)]
    left_out[UNDONE] += len(held) - len(requests)
    entries = [entry for request in requests for entry in _entries(request, left_out)]
    models = dict.fromkeys(filter(None, (word(request.get("modelId")) for request in requests)))
    if requests or left_out:
        first = requests[0] if requests else {}
        id_ = word(whole.get("sessionId")) or f"copilot-{word(first.get('requestId')) or path.stem}"
        started = moment(first.get("timestamp")) or moment(whole.get("creationDate"))
        about = given({"models": list(models)})
        yield Session(id_, path, entries, word(whole.get("customTitle")), started, about, left_out=+left_out)


def is_undone(request: dict[str, Any]) -> bool:
    """Return whether a person took a request back, and not only a part of its answer."""
    undone = mapping(request.get("shouldBeRemovedOnSend"))
    return bool(request.get("isHidden") or (undone and not undone.get("afterUndoStop")))


def applied(whole: Any, change: dict[str, Any]) -> Any:
    """Return a session after a change of its log.

    ``{"kind": 1, "k": ["customTitle"], "v": "Helm"}`` sets a field; kind 2 adds ``v`` to the list at ``k``, from the
    place ``i`` on where it is given.

    Raises:
        KeyError, IndexError, TypeError: The place is not there.
    """
    kind, place, value = change.get("kind"), change.get("k") or [], change.get("v")
    if kind == _ALL and isinstance(value, dict):
        return value
    target = whole
    for step in place[:-1]:
        target = target[step]
    match kind:
        case int() if kind == _SET:
            target[place[-1]] = value
        case int() if kind == _PUSH:
            held = target.setdefault(place[-1], []) if isinstance(target, dict) else target[place[-1]]
            if isinstance(change.get("i"), int):
                del held[change["i"] :]
            held.extend(value or [])
        case int() if kind == _DELETE:
            if isinstance(target, dict):
                target.pop(place[-1], None)
            else:
                del target[place[-1]]
    return whole


def _entries(request: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    asked_at = moment(request.get("timestamp"))
    id_ = word(request.get("requestId"))
    left_out[ATTACHMENTS] += len(list(mappings(mapping(request.get("variableData")).get("variables"))))
    if text := text_of(request.get("message")).strip():
        yield HistoryMessage(USER, text, id_, asked_at)
    items = list(records(request.get("response"), left_out))
    for item in items:
        left_out[THOUGHTS] += item.get("kind") == "thinking"
        if item.get("kind") == "toolInvocationSerialized":
            said = text_of_markdown(item.get("pastTenseMessage") or item.get("invocationMessage"))
            yield ToolCall(str(item.get("toolId") or "tool"), said, "", word(item.get("toolCallId")), asked_at)
    if answer := "".join(map(_shown, items)).strip():
        answered_at = moment(mapping(request.get("modelState")).get("completedAt")) or asked_at
        yield HistoryMessage(
            ASSISTANT, answer, word(request.get("responseId")) or (f"{id_}-answer" if id_ else None), answered_at
        )


def text_of_markdown(value: Any) -> str:
    """Return a text that stands alone, or as the ``value`` of Markdown."""
    return value if isinstance(value, str) else str(mapping(value).get("value") or "")


def _shown(item: dict[str, Any]) -> str:
    """Return what an item adds to the answer. The name of a file belongs into the sentence around it."""
    match item.get("kind"):
        case None | "markdownVuln":
            return text_of_markdown(item.get("value") or item.get("content"))
        case "markdownContent":
            return text_of_markdown(item.get("content"))
        case "inlineReference":
            reference = mapping(item.get("inlineReference"))
            uri = mapping(reference.get("uri")) or mapping(mapping(reference.get("location")).get("uri")) or reference
            path = PurePosixPath(str(uri.get("path") or "")).name
            return f"`{word(item.get('name')) or word(reference.get('name')) or path}`"
        case _:
            return ""


FORMAT: Final = HistoryFormat(
    "copilot",
    recognise,
    each(_read),
    homes=tuple(
        f"{root}/{program}/User/{folder}"
        for root in (".config", "Library/Application Support", "AppData/Roaming", ".vscode-server/data")
        for program in ("Code", "Code - Insiders", "VSCodium")
        for folder in ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    ),
)
