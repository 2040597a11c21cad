"""Gemini CLI: a chat that a person saved under a name, ``checkpoint-NAME.json``."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from querymill_histories.files import object_of
from querymill_histories.rules.contents import mapping, records, spoken
from querymill_histories.rules.injected import typed
from querymill_histories.rules.remarks import ATTACHMENTS, THOUGHTS
from querymill_histories.session import ASSISTANT, USER, Head, HistoryMessage, Session, ToolCall

_BEGINNINGS: Final = ('[{"role":"user","parts":[', '[{"parts":[', '{"history":[{"role":"user","parts":[')
#: What the program says before the person does, and what the model is made to answer.
_CONTEXT: Final = re.compile(r"\s*(?:This is the Gemini CLI\.|<session_context>)")
_GREETING: Final = "Got it. Thanks for the context!"
_NAME: Final = re.compile(r"checkpoint-(?P<name>.+)")


def is_saved(head: Head) -> bool:
    """Return whether a file is such a chat."""
    return head.path.name.startswith("checkpoint") and head.packed.startswith(_BEGINNINGS)


def read_saved(path: Path) -> Session:
    """Read it. It holds neither an id nor times: its name and folder tell it from others.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not JSON.
    """
    whole = object_of(path)
    left_out: Counter[str] = Counter()
    rows = mapping(whole).get("history") if isinstance(whole, dict) else whole
    match = _NAME.fullmatch(path.stem)
    name = unquote(match["name"]) if match else None
    return Session(f"{path.parent.name}-{path.stem}", path, list(_entries(rows, left_out)), name, left_out=+left_out)


def _entries(rows: Any, left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    begun = False
    for row in records(rows, left_out):
        role = USER if row.get("role") == "user" else ASSISTANT
        for part in records(row.get("parts"), left_out):
            text = spoken(part.get("text"), left_out)
            left_out[THOUGHTS] += bool(part.get("thought"))
            left_out[ATTACHMENTS] += "inlineData" in part or "fileData" in part
            called = mapping(part.get("functionCall"))
            if called:
                yield ToolCall(str(called.get("name")), called.get("args"), "")
            if not text or part.get("thought") or (not begun and (_CONTEXT.match(text) or text == _GREETING)):
                continue
            shown = typed(text) if role == USER else text
            if shown:
                begun = True
                yield HistoryMessage(role, shown)
