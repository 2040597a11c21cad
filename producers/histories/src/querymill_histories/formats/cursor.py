"""Cursor: chats and composers in the databases of its settings, exports of them, and transcripts of its agents."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from querymill_histories.files import BROKEN, database_at, has_tables, head_of, object_of, reason_of
from querymill_histories.formats.cursor_texts import is_text, read_text
from querymill_histories.rules.contents import given, mapping, mappings, records, result_of, spoken, word
from querymill_histories.rules.remarks import ATTACHMENTS, NO_OBJECTS, THOUGHTS
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
_CHATS: Final = "workbench.panel.aichat.view.aichat.chatdata"
_COMPOSERS: Final = "composer.composerData"
_ROLES: Final = {"user": USER, "ai": ASSISTANT, "1": USER, "2": ASSISTANT}


def recognise(head: Head) -> bool:
    """Return whether a file is a database of Cursor, or its rows as JSON."""
    if head.start.startswith(_DATABASE):
        return head.path.name.startswith("state.vscdb") or has_tables(head.path, "cursorDiskKV")
    if is_text(head):
        return True
    packed = head.packed
    return packed.startswith("{") and '"rows":[' in packed and (_CHATS in packed or _COMPOSERS in packed)


def read(paths: Sequence[Path], _asked: ReadOptions) -> Read:
    """Read all databases together: a workspace names its composers, and their messages are in another file."""
    found: dict[str, Session] = {}
    heads: dict[str, dict[str, Any]] = {}
    for path in sorted(paths, key=lambda one: one.name != "state.vscdb"):
        try:
            if is_text(head_of(path)):
                yield from read_text(path)
                continue
            for session in _sessions(path, heads):
                if isinstance(session, UnreadPlace):
                    yield session
                    continue
                known = found.get(session.id)
                if known is None or len(session.entries) > len(known.entries):
                    found[session.id] = session
        except BROKEN as error:
            yield UnreadPlace(str(path), reason_of(error))
    for id_, session in found.items():
        head = heads.get(id_, {})
        about = given({"cwd": head.get("cwd")}) | session.about
        yield replace(session, name=session.name or word(head.get("name")), about=about)


def _sessions(path: Path, heads: dict[str, dict[str, Any]]) -> Read:
    with path.open("rb") as file:
        is_database = file.read(len(_DATABASE)) == _DATABASE
    if not is_database:
        lost: list[UnreadPlace] = []
        held = mapping(object_of(path, lost)).get("rows")
        yield from lost
        rows = held if isinstance(held, list) else []
        values = {str(row[-2]): row[-1] for row in rows if isinstance(row, list) and len(row) > 1}
        yield from (
            UnreadPlace(f"{path}: row {number}", "not a name and a value")
            for number, row in enumerate(rows, 1)
            if not (isinstance(row, list) and len(row) > 1)
        )
        yield from _of_items(path, values, heads)
        return
    with database_at(path) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "ItemTable" in tables:
            asked = "SELECT key, value FROM ItemTable WHERE key IN (?, ?)"
            yield from _of_items(path, dict(database.execute(asked, (_CHATS, _COMPOSERS))), heads)
        if "cursorDiskKV" in tables:
            yield from _of_disk(path, database)


def _json(value: Any) -> dict[str, Any] | None:
    """Read a value of a database; None if it is damaged."""
    try:
        return mapping(json.loads(value)) if value else {}
    except (ValueError, TypeError, RecursionError):
        return None


def _of_items(path: Path, values: dict[str, Any], heads: dict[str, dict[str, Any]]) -> Read:
    folder = _folder(path)
    chats, composers = (_json(values.get(name)) for name in (_CHATS, _COMPOSERS))
    yield from (
        UnreadPlace(f"{path}: {name}", "not JSON")
        for name, held in ((_CHATS, chats), (_COMPOSERS, composers))
        if held is None
    )
    for tab in mappings(mapping(chats).get("tabs")):
        left_out: Counter[str] = Counter()
        bubbles = list(records(tab.get("bubbles"), left_out))
        entries = [entry for bubble in bubbles for entry in _entries(bubble, left_out)]
        id_ = word(tab.get("tabId"))
        if id_ and entries:
            started = moment(tab.get("createdAt")) or moment(tab.get("lastSendTime"))
            about = given({"cwd": folder, "models": _models(iter(bubbles))})
            yield Session(id_, path, entries, word(tab.get("chatTitle")), started, about, left_out=+left_out)
    for composer in mappings(mapping(composers).get("allComposers")):
        heads[str(composer.get("composerId"))] = {"name": composer.get("name"), "cwd": folder}
        yield from _of_composer(path, composer, list(mappings(composer.get("conversation"))), Counter())


def _of_disk(path: Path, database: sqlite3.Connection) -> Read:
    asked = "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?"
    for key, value in database.execute(asked, ("composerData:", "composerData;")):
        left_out: Counter[str] = Counter()
        composer = _json(value)
        if composer is None:
            yield UnreadPlace(f"{path}: {key}", "not JSON")
            continue
        id_ = word(composer.get("composerId")) or key.partition(":")[2]
        bubbles = list(mappings(composer.get("conversation")))
        if not bubbles:
            stored = {
                name.rpartition(":")[2]: _json(bubble)
                for name, bubble in database.execute(asked, (f"bubbleId:{id_}:", f"bubbleId:{id_};"))
            }
            left_out[NO_OBJECTS] += sum(bubble is None for bubble in stored.values())
            stored |= mapping(composer.get("conversationMap"))
            headers = mappings(composer.get("fullConversationHeadersOnly"))
            bubbles = [mapping(stored.get(str(header.get("bubbleId")))) | header for header in headers]
        yield from _of_composer(path, composer | {"composerId": id_}, bubbles, left_out)


def _of_composer(
    path: Path, composer: dict[str, Any], bubbles: list[dict[str, Any]], left_out: Counter[str]
) -> Iterator[Session]:
    entries = [entry for bubble in bubbles for entry in _entries(bubble, left_out)]
    id_ = word(composer.get("composerId"))
    if id_ and entries:
        models = _models(iter(bubbles)) or list(
            filter(None, [word(mapping(composer.get("modelConfig")).get("modelName"))])
        )
        started = moment(composer.get("createdAt")) or moment(composer.get("lastUpdatedAt"))
        yield Session(
            id_, path, entries, word(composer.get("name")), started, given({"models": models}), left_out=+left_out
        )


def _models(bubbles: Iterator[dict[str, Any]]) -> list[str]:
    named = (
        word(mapping(bubble.get("modelInfo")).get("modelName")) or word(bubble.get("modelType")) for bubble in bubbles
    )
    return list(dict.fromkeys(filter(None, named)))


def _entries(bubble: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    """Read a bubble. The last of a tab is the box in which the next question is typed, and may be empty."""
    role = _ROLES.get(str(bubble.get("type")))
    id_ = word(bubble.get("bubbleId")) or word(bubble.get("id"))
    at = moment(bubble.get("createdAt")) or moment(mapping(bubble.get("timingInfo")).get("clientStartTime"))
    text = spoken(bubble.get("text") or bubble.get("rawText"), left_out)
    left_out[THOUGHTS] += bool(bubble.get("isThought") or mapping(bubble.get("thinking")).get("text"))
    left_out[ATTACHMENTS] += len(list(mappings(bubble.get("images"))))
    if role and text and not bubble.get("isThought"):
        yield HistoryMessage(role, text, id_, at)
    tool = mapping(bubble.get("toolFormerData"))
    if tool.get("name"):
        arguments = tool.get("rawArgs") or tool.get("params")
        yield ToolCall(str(tool["name"]), arguments, result_of(tool.get("result")), word(tool.get("toolCallId")), at)


def _folder(path: Path) -> str | None:
    """Return the folder that a workspace opens: it is in a file beside the database."""
    try:
        uri = word(mapping(object_of(path.with_name("workspace.json"))).get("folder"))
    except BROKEN:
        return None
    return unquote(urlsplit(uri).path) if uri else None


FORMAT: Final = HistoryFormat(
    "cursor",
    recognise,
    read,
    homes=(
        *(
            f"{root}/Cursor/User/{folder}/state.vscdb"
            for root in (".config", "Library/Application Support", "AppData/Roaming")
            for folder in ("workspaceStorage/*", "globalStorage")
        ),
        ".cursor/projects/*/agent-transcripts",
    ),
    read_with="format",
)
