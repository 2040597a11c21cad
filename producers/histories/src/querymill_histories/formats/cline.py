"""Cline and Roo Code: a folder for each task. ``ui_messages.json`` is what a person saw."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import BROKEN, object_of, reason_of
from querymill_histories.rules.contents import given, mapping, mappings, records, word
from querymill_histories.rules.remarks import ATTACHMENTS, SYSTEM_LINES, THOUGHTS
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

_SEEN: Final = ("ui_messages.json", "claude_messages.json")
_SENT: Final = "api_conversation_history.json"
#: Files of a task that hold no messages.
_BESIDE: Final = ("task_metadata.json", "history_item.json", "context_history.json", "focus_chain_taskid.json")
_SAYS: Final = {
    "text": ASSISTANT, "completion_result": ASSISTANT, "user_feedback": USER, "task": USER, "followup": ASSISTANT,
    "plan_mode_respond": ASSISTANT,
}  # fmt: skip
_CALLS: Final = ("tool", "command", "browser_action_launch", "use_mcp_server")
_CHANGES: Final = re.compile(r"\s*HAS_CHANGES\s*\Z")
_FOLDER: Final = re.compile(r"# Current (?:Working|Workspace) Directory \(([^)\n]+)\)")
#: What a person typed, where it stands among what is sent to the model.
_TYPED: Final = re.compile(r"<(task|feedback|user_message|answer)>\s*(.*?)\s*</\1>", re.DOTALL)
_SENT_CALL: Final = re.compile(r"<thinking>.*?</thinking>|<([a-z]+_[a-z_]+)>\s*<.*?</\1>", re.DOTALL)


def recognise(head: Head) -> bool:
    """Return whether a file belongs to a task."""
    name, packed = head.path.name, head.packed
    if name in _SEEN:
        return packed.startswith("[")
    if name in (_SENT, *_BESIDE):
        return packed.startswith(("[", "{"))
    return packed.startswith('[{"ts":') and '"type":"say"' in packed


def read(paths: Sequence[Path], _asked: ReadOptions) -> Read:
    """Read tasks; of the two files with messages, the one that a person saw."""
    seen_in = {path.parent for path in paths if plain_name(path).name not in (_SENT, *_BESIDE)}
    for path in paths:
        name = plain_name(path).name
        if name in _BESIDE or (name == _SENT and path.parent in seen_in):
            continue
        left_out: Counter[str] = Counter()
        lost: list[UnreadPlace] = []
        try:
            rows = list(records(object_of(path, lost), left_out))
            entries = list((_sent if name == _SENT else _seen)(rows, left_out))
            yield from lost
        except BROKEN as error:
            yield UnreadPlace(str(path), reason_of(error))
            continue
        id_ = path.parent.name if name in (*_SEEN, _SENT) else path.stem
        folder = next((match[1] for row in rows[:20] if (match := _FOLDER.search(str(row)))), None)
        started = moment(rows[0].get("ts")) if rows else None
        yield Session(id_, path, entries, None, started or moment(id_), given({"cwd": folder}), left_out=+left_out)


def _seen(rows: list[dict[str, Any]], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    is_first, before = True, ""
    for row in rows:
        kind = str(row.get("say") or row.get("ask"))
        at, id_ = moment(row.get("ts")), word(row.get("ts"))
        text = _CHANGES.sub("", _spoken(row, kind)).strip()
        if kind in _CALLS:
            called = _read_json(str(row.get("text") or ""))
            yield ToolCall(str(mapping(called).get("tool") or kind), called, "", id_, at)
        left_out[ATTACHMENTS] += sum(
            len(held) for name in ("images", "files") if isinstance(held := row.get(name), list)
        )
        left_out[THOUGHTS] += kind == "reasoning"
        if kind not in _SAYS or not text:
            left_out[SYSTEM_LINES] += kind not in (*_SAYS, *_CALLS, "reasoning")
            continue
        role = USER if is_first and kind == "text" else _SAYS[kind]
        is_first = False
        if text != before or role == USER:  # a result is said, and then asked about
            yield HistoryMessage(role, text, id_, at)
        before = text if kind == "completion_result" else ""


def _spoken(row: dict[str, Any], kind: str) -> str:
    text = word(row.get("text")) or ""
    if kind in ("followup", "plan_mode_respond"):
        asked = mapping(_read_json(text))
        return str(asked.get("question") or asked.get("response") or ("" if asked else text))
    return text


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _sent(rows: list[dict[str, Any]], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    for row in rows:
        content = row.get("content")
        left_out[ATTACHMENTS] += sum(block.get("type") in ("image", "document") for block in mappings(content))
        left_out[THOUGHTS] += sum(block.get("type") == "thinking" for block in mappings(content))
        blocks = [content] if isinstance(content, str) else [
            str(block.get("text") or "") for block in mappings(content) if block.get("type") == "text"
        ]  # fmt: skip
        for block in blocks:
            if row.get("role") == USER:
                yield from (
                    HistoryMessage(USER, match[2], at=moment(row.get("ts")))
                    for match in _TYPED.finditer(block)
                    if match[2]
                )
            elif text := _SENT_CALL.sub("", block).strip():
                yield HistoryMessage(ASSISTANT, text, at=moment(row.get("ts")))


FORMAT: Final = HistoryFormat(
    "cline",
    recognise,
    read,
    homes=tuple(
        f"{root}/{program}/User/globalStorage/{extension}/tasks"
        for root in (".config", "Library/Application Support", "AppData/Roaming", ".vscode-server/data")
        for program in ("Code", "Code - Insiders", "Cursor", "VSCodium")
        for extension in ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")
    ),
    read_with="folder",
)
