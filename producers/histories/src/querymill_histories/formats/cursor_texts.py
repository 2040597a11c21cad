"""Cursor: chats that it exports as Markdown, and the transcripts that its agents leave, as JSON lines or as text."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import head_of, taken, text_in
from querymill_histories.rules.contents import mapping, mappings, spoken, word
from querymill_histories.rules.injected import typed
from querymill_histories.rules.remarks import INJECTED, SYSTEM_LINES, THOUGHTS, unknown_kind
from querymill_histories.session import ASSISTANT, USER, Head, HistoryMessage, Read, Session, ToolCall

_ROLES: Final = {"user": USER, "assistant": ASSISTANT}
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
    return any(
        str(record.get("role")) in _ROLES and "content" in mapping(record.get("message")) for record in head.records
    )


def read_text(path: Path) -> Read:
    """Read an export or a transcript.

    Raises:
        OSError: It cannot be read.
    """
    stem = plain_name(path).stem
    left_out: Counter[str] = Counter()
    if head_of(path).records:
        entries: list[HistoryMessage | ToolCall] = []
        yield from taken(path, lambda _, row: entries.extend(_of_line(row, left_out)))
        yield Session(stem, path, entries, left_out=+left_out)
        return
    whole = text_in(path, left_out)
    exported = _TITLE.match(whole)
    if exported is None:
        left_out[THOUGHTS] += sum(mark["what"] == "Thinking" for mark in _MARK.finditer(whole))
        yield Session(stem, path, list(_of_transcript(whole)), left_out=+left_out)
        return
    said = list(_of_export(whole))
    # Nothing in it is an id: a later export of the same chat begins in the same way.
    known_by = f"{exported['title']}\n{said[0].text if said else ''}"
    id_ = f"cursor-{hashlib.sha256(known_by.encode()).hexdigest()[:16]}"
    yield Session(id_, path, list(said), exported["title"].strip(), left_out=+left_out)


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


def _of_line(row: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    role = _ROLES.get(str(row.get("role")))
    left_out[SYSTEM_LINES] += role is None
    content = mapping(row.get("message")).get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else mappings(content)
    for part in parts:
        if part.get("type") == "text" and role is not None:
            text = spoken(part.get("text"), left_out)
            shown = asked_in(text) if role == USER else text
            left_out[INJECTED] += bool(text) and not shown
            if shown:
                yield HistoryMessage(role, shown)
        elif part.get("type") == "tool_use":
            yield ToolCall(str(part.get("name")), part.get("input"), "", word(part.get("id")))
        elif part.get("type") != "text":
            left_out[unknown_kind(part.get("type"))] += 1


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
