"""opencode: an exported session, the folder in which older versions store sessions, or the database of newer ones."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import BROKEN, database_at, has_tables, object_of, reason_of
from querymill_histories.rules.contents import given, mapping, records, result_of, spoken, word
from querymill_histories.rules.copies import one_each
from querymill_histories.rules.injected import typed
from querymill_histories.rules.remarks import (
    ATTACHMENTS,
    INJECTED,
    NO_OBJECTS,
    SYSTEM_LINES,
    THOUGHTS,
    UNDONE,
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
    UnreadPlace,
)

_DATABASE: Final = b"SQLite format 3\x00"
#: Kinds of parts: those that are read or counted, and those that the tool writes for itself.
_KINDS: Final = ("text", "tool", "reasoning", "file", "step-start", "step-finish", "snapshot", "patch", "agent",
                 "retry", "compaction", "subtask")  # fmt: skip
_TABLES: Final = ("session", "message", "part")


def recognise(head: Head) -> bool:
    """Return whether a file is a session of opencode, or belongs to one."""
    if head.start.startswith(_DATABASE):
        return has_tables(head.path, *_TABLES)
    packed = head.packed
    if head.path.name.startswith(("ses_", "msg_", "prt_")) and packed.startswith("{"):
        return True
    return '{"info":{' in packed[:4_000] and ('"id":"ses' in packed or '"messages":[{"info":{' in packed)


def read(paths: Sequence[Path], _asked: ReadOptions) -> Read:
    """Read sessions. Those that an agent had with another are left out."""
    sessions: list[Session] = []
    for path in paths:
        if path.name.startswith(("msg_", "prt_")):
            continue
        try:
            for found in _sessions(path):
                if isinstance(found, Session):
                    sessions.append(found)
                else:
                    yield found
        except BROKEN as error:
            yield UnreadPlace(str(path), reason_of(error))
    yield from one_each(sessions)


def _sessions(path: Path) -> Read:
    with path.open("rb") as file:
        is_database = file.read(len(_DATABASE)) == _DATABASE
    if is_database:
        yield from _stored(path)
        return
    lost: list[UnreadPlace] = []
    left_out: Counter[str] = Counter()
    whole = mapping(object_of(path, lost))
    if "info" in whole:
        found = _session(path, mapping(whole["info"]), list(records(whole.get("messages"), left_out)), left_out)
    else:
        found = _session(path, whole, list(_beside(path, str(whole.get("id")), lost)), left_out)
    yield from lost
    if found is not None:
        yield found


def _beside(path: Path, session: str, lost: list[UnreadPlace]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a session in the folder ``storage``: each has a file, and so has each of its parts."""
    storage = path.parent.parent.parent
    for message in sorted((storage / "message" / session).glob("msg_*.json")):
        parts = sorted((storage / "part" / message.stem).glob("prt_*.json"))
        yield {"info": _whole(message, lost), "parts": [_whole(part, lost) for part in parts]}


def _whole(path: Path, lost: list[UnreadPlace]) -> dict[str, Any]:
    """Read a file; one that is broken is empty, and named."""
    try:
        return mapping(object_of(path, lost))
    except BROKEN as error:
        lost.append(UnreadPlace(str(path), reason_of(error)))
        return {}


def _stored_json(value: Any, left_out: Counter[str]) -> dict[str, Any]:
    """Read a value of the database; one that is damaged is empty, and counted."""
    try:
        return mapping(json.loads(value or "null"))
    except (ValueError, TypeError, RecursionError):
        left_out[NO_OBJECTS] += 1
        return {}


def _stored(path: Path) -> Iterator[Session]:
    with database_at(path) as database:
        heads = _rows(database.execute("SELECT * FROM session ORDER BY id"))
        for head in heads:
            left_out: Counter[str] = Counter()
            parts: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
            asked = (head["id"],)
            for row in _rows(database.execute("SELECT * FROM part WHERE session_id = ? ORDER BY id", asked)):
                parts[row["message_id"]].append(_stored_json(row["data"], left_out))
            rows = _rows(
                database.execute("SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id", asked)
            )
            messages = [
                {"info": _stored_json(row["data"], left_out) | {"id": row["id"]}, "parts": parts[row["id"]]}
                for row in rows
            ]
            info = {
                "id": head["id"],
                "parentID": head.get("parent_id"),
                "title": head.get("title"),
                "directory": head.get("directory"),
                "version": head.get("version"),
                "revert": _stored_json(head.get("revert"), left_out),
                "time": {"created": head.get("time_created")},
            }
            if (found := _session(path, info, messages, left_out)) is not None:
                yield found


def _rows(cursor: Any) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _session(
    path: Path, info: dict[str, Any], messages: list[dict[str, Any]], left_out: Counter[str]
) -> Session | None:
    if info.get("parentID"):
        return None
    back_to = mapping(info.get("revert")).get("messageID")
    ids = [mapping(message.get("info")).get("id") for message in messages]
    kept = messages[: ids.index(back_to)] if back_to in ids else messages
    left_out[UNDONE] += len(messages) - len(kept)
    entries = [entry for message in kept for entry in _entries(message, left_out)]
    models = dict.fromkeys(filter(None, (word(mapping(message.get("info")).get("modelID")) for message in messages)))
    about = given({"cwd": info.get("directory"), "tool_version": info.get("version"), "models": list(models)})
    started = moment(mapping(info.get("time")).get("created"))
    return Session(
        word(info.get("id")) or path.stem, path, entries, word(info.get("title")), started, about, left_out=+left_out
    )


def _entries(message: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    info = mapping(message.get("info"))
    role, id_ = info.get("role"), word(info.get("id"))
    at = moment(mapping(info.get("time")).get("created"))
    if role not in (USER, ASSISTANT) or (role == ASSISTANT and info.get("summary") is True):
        left_out[SYSTEM_LINES] += 1
        return
    for part in records(message.get("parts"), left_out):
        kind = part.get("type")
        left_out[THOUGHTS] += kind == "reasoning"
        left_out[ATTACHMENTS] += kind == "file"
        if kind == "text" and (part.get("synthetic") or part.get("ignored")):
            left_out[INJECTED] += 1
        elif kind not in _KINDS:
            left_out[unknown_kind(kind)] += 1
        elif kind == "text":
            text = spoken(part.get("text"), left_out)
            if text := typed(text) if role == USER else text.strip():
                yield HistoryMessage(str(role), text, id_, at)
        elif kind == "tool":
            state = mapping(part.get("state"))
            result = result_of(state.get("output") or state.get("error"))
            yield ToolCall(str(part.get("tool")), state.get("input"), result, word(part.get("callID")), at)


FORMAT: Final = HistoryFormat(
    "opencode",
    recognise,
    read,
    homes=(".local/share/opencode/opencode.db", ".local/share/opencode/storage/session"),
    read_with="format",
)
