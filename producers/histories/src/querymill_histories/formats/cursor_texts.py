"""Cursor: chats that it exports as Markdown, and the transcripts that its agents leave, as JSON lines or as text."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import lines_of
from querymill_histories.rules.contents import mapping, mappings, word
from querymill_histories.rules.injected import typed
from querymill_histories.session import ASSISTANT, USER, Head, HistoryMessage, Read, Session, ToolCall, UnreadPlace

_TITLE: Final = re.compile(
    r"\ufeff?#[ \t]+(?P<title>[^\n]+)\n+_Exported on [^\n]{5,80} from Cursor \([^)\n]{1,40}\)_\s*\n"
)
#: Begins a turn of a Markdown export. A rule alone may stand in an answer.
_TURN: Final = re.compile(r"^---[ \t]*\n\s*\*\*(?P<who>User|Cursor)\*\*[ \t]*$", re.MULTILINE)
#: Begins a part of a transcript in text.
_SPEAKER: Final = re.compile(r"^(?P<who>user|assistant|A):[ \t]*$", re.MULTILINE)
_MARK: Final = re.compile(r"^\[(?P<what>Thinking|Tool call|Tool result)\][ \t]*(?P<name>[^\n]*)$", re.MULTILINE)
_QUERY: Final = re.compile(r"<user_query>(?P<text>.*?)</user_query>", re.DOTALL)


def is_text(head: Head) -> bool:
    """Return whether a file is an export or a transcript."""
    if _TITLE.match(head.text) or head.text.lstrip("\ufeff").startswith("user:\n<user_query>"):
        return True
    return head.packed.startswith(('{"role":"user","message":{"content":', '{"role":"assistant","message":{"content":'))


def read_text(path: Path) -> Read:
    """Read an export or a transcript.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        is_lines = file.read(1) == b"{"
    if is_lines:
        entries: list[HistoryMessage | ToolCall] = []
        for line in lines_of(path):
            if isinstance(line, UnreadPlace):
                yield line
            else:
                entries += _of_line(line[1])
        yield Session(path.stem, path, entries)
        return
    whole = path.read_text(encoding="utf-8-sig", errors="replace").replace("\r\n", "\n")
    exported = _TITLE.match(whole)
    if exported is None:
        yield Session(path.stem, path, list(_of_transcript(whole)))
        return
    said = list(_of_export(whole))
    # Nothing in it is an id: a later export of the same chat begins in the same way.
    known_by = f"{exported['title']}\n{said[0].text if said else ''}"
    id_ = f"cursor-{hashlib.sha256(known_by.encode()).hexdigest()[:16]}"
    yield Session(id_, path, list(said), exported["title"].strip())


def _cut(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match with the text up to the next."""
    found = list(pattern.finditer(text))
    for at, match in enumerate(found):
        yield match, text[match.end() : found[at + 1].start() if at + 1 < len(found) else len(text)]


def _of_export(whole: str) -> Iterator[HistoryMessage]:
    for turn, under in _cut(_TURN, whole):
        text = under.strip().removesuffix("\n---").strip()
        if text:
            yield HistoryMessage(USER if turn["who"] == "User" else ASSISTANT, text)


def _of_line(row: dict[str, Any]) -> Iterator[HistoryMessage | ToolCall]:
    role = {"user": USER, "assistant": ASSISTANT}.get(str(row.get("role")))
    content = mapping(row.get("message")).get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else mappings(content)
    for part in parts:
        if part.get("type") == "text" and role is not None:
            text = str(part.get("text") or "")
            shown = asked_in(text) if role == USER else text.strip()
            if shown:
                yield HistoryMessage(role, shown)
        elif part.get("type") == "tool_use":
            yield ToolCall(str(part.get("name")), part.get("input"), "", word(part.get("id")))


def asked_in(text: str) -> str:
    """Return what a person typed: it stands between marks, and beside it what the program added."""
    queries = [match["text"].strip() for match in _QUERY.finditer(text)]
    return "\n\n".join(filter(None, queries)) if queries else typed(text)


def _of_transcript(whole: str) -> Iterator[HistoryMessage | ToolCall]:
    for speaker, text in _cut(_SPEAKER, whole):
        if speaker["who"] == "user":
            if asked := asked_in(text):
                yield HistoryMessage(USER, asked)
        else:
            yield from _of_assistant(text)


def _of_assistant(text: str) -> Iterator[HistoryMessage | ToolCall]:
    """Yield what is said around thoughts, which are a paragraph, calls, which are indented, and their results."""
    found = _MARK.search(text)
    first = text[: found.start()] if found else text
    if first.strip():
        yield HistoryMessage(ASSISTANT, first.strip())
    for mark, rest in _cut(_MARK, text):
        if mark["what"] == "Tool result":
            continue
        if mark["what"] == "Tool call":
            lines = rest.strip("\n").split("\n")
            count = next((at for at, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
            yield ToolCall(mark["name"].strip(), "\n".join(line.strip() for line in lines[:count]), "")
            said = "\n".join(lines[count:])
        else:
            said = rest.partition("\n\n")[2]
        if said.strip():
            yield HistoryMessage(ASSISTANT, said.strip())
