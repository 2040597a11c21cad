"""Turn a session into the document that is ingested, within the limits of its contract."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from querymill_histories.rules.remarks import quantity
from querymill_histories.rules.tool_calls import shown
from querymill_histories.session import TOOL, HistoryMessage, Session, Tools

#: Limits of the contract: messages of a session, characters of a message, bytes of a session's texts, and of names.
MAX_MESSAGES, MAX_CHARS, MAX_BYTES, MAX_NAME = 5_000, 1_000_000, 15_000_000, 200


def rows_of(session: Session, format_name: str, tools: Tools = "none") -> Iterator[dict[str, Any]]:
    """Yield the documents of a session: one, or several if it is too large for one; none if nothing was said.

    The second has the id of the session with ``/2``. What the session leaves out of its file stands in ``left_out``:
    ``["2 attachments"]``.

    Args:
        session: What a format returned.
        format_name: Where it comes from.
        tools: How tool calls are shown.
    """
    messages = list(_messages(session, tools))
    if not messages:
        return
    started = session.started_at or next((row["created_at"] for row in messages if row.get("created_at")), None)
    if started is None:
        started = datetime.fromtimestamp(session.source.stat().st_mtime, UTC)
    for number, part in enumerate(_parts(messages), 1):
        head = {
            **session.about,
            "session_id": _id(session.id if number == 1 else f"{session.id}/{number}"),
            "started_at": started if number == 1 else _first_time(part) or started,
            "origin": format_name,
            "source": str(session.source.absolute()),
        }
        if left_out := counted(session.left_out):
            head["remarks"] = left_out
        if session.name and session.name.strip():
            head["name"] = _name(session.name)
        yield _storable({**head, "messages": part})


def counted(left_out: Mapping[str, int]) -> list[str]:
    """Return what was left out in words, the most first: ``["12 system lines", "2 attachments"]``."""
    return [
        quantity(count, what)
        for what, count in sorted((+Counter(left_out)).items(), key=lambda item: (-item[1], item[0]))
    ]


def _messages(session: Session, tools: Tools) -> Iterator[dict[str, Any]]:
    used: dict[str, int] = {}
    for entry in session.entries:
        role, text = (entry.role, entry.text) if isinstance(entry, HistoryMessage) else (TOOL, shown(entry, tools))
        text = text.strip()
        for start in range(0, len(text), MAX_CHARS):
            row: dict[str, Any] = {"role": _name(role), "text": text[start : start + MAX_CHARS]}
            if entry.id:
                row["message_id"] = _once(entry.id, used)
            if entry.at:
                row["created_at"] = entry.at
            if entry.line:
                row["line"] = entry.line
            if entry.source:
                row["source"] = str(entry.source.absolute())
            yield row


def _once(id_: str, used: dict[str, int]) -> str:
    """Return an id that occurs once: the second block of a message has ``#2``."""
    used[id_] = used.get(id_, 0) + 1
    return _id(id_ if used[id_] == 1 else f"{id_}#{used[id_]}")


def _parts(messages: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    held: list[dict[str, Any]] = []
    size = 0
    for row in messages:
        length = len(row["text"].encode("utf-8", "surrogatepass"))
        if held and (len(held) == MAX_MESSAGES or size + length > MAX_BYTES):
            yield held
            held, size = [], 0
        held.append(row)
        size += length
    if held:
        yield held


def _first_time(messages: list[dict[str, Any]]) -> datetime | None:
    return next((row["created_at"] for row in messages if row.get("created_at")), None)


def _id(value: str) -> str:
    """Return an id of at most 200 characters: a longer one ends in its hash."""
    if len(value) <= MAX_NAME:
        return value
    return f"{value[: MAX_NAME - 17]}-{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _name(value: str) -> str:
    line = " ".join(value.replace("\0", " ").split()) or "unknown"
    return line if len(line) <= MAX_NAME else f"{line[: MAX_NAME - 1]}…"


def _storable(value: Any) -> Any:
    """Replace halves of surrogate pairs, which a tool that cuts texts leaves behind."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {name: _storable(item) for name, item in value.items()}
        case list():
            return [_storable(item) for item in value]
        case _:
            return value
