"""Aider: one Markdown file for all chats of a project."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from querymill_histories.files import each, text_lines
from querymill_histories.rules.contents import given
from querymill_histories.rules.remarks import THOUGHTS
from querymill_histories.rules.times import moment
from querymill_histories.session import (
    ASSISTANT,
    TOOL,
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

_START: Final = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_THINKING: Final = re.compile(
    r"<(thinking-content-\w+|think)>.*?(</\1>|\Z)|► \*\*THINKING\*\*.*?(?:► \*\*ANSWER\*\*|\Z)", re.DOTALL
)
#: Commands that ask something; all others do something.
_ASKING: Final = re.compile(r"/(?:ask|code|architect|help|context)\b\s*", re.IGNORECASE)
_COMMAND: Final = re.compile(r"[/!][a-zA-Z-]+(\s|$)")
_MODEL: Final = re.compile(r"> (?:Main m|M)odel: (\S+)")

#: A run of lines: the role, its lines, the number of the first.
_Run = tuple[str, list[str], int]


def recognise(head: Head) -> bool:
    """Return whether a file is a chat history of Aider."""
    return re.search(r"^# aider chat started at \d{4}-", head.text, re.MULTILINE) is not None


def _read(path: Path, asked: ReadOptions) -> Read:
    started: str | None = None
    lines: list[tuple[int, str]] = []
    left_out: Counter[str] = Counter()
    for number, line in text_lines(path, left_out):
        if match := _START.match(line):
            if started:
                yield _session(path, started, lines, left_out, asked)
                left_out = Counter()
            started, lines = match[1], []
        else:
            lines.append((number, line))
    if started:
        yield _session(path, started, lines, left_out, asked)
    else:
        yield UnreadPlace(str(path), "no line says when a chat was started")


def _session(
    path: Path, started: str, lines: list[tuple[int, str]], left_out: Counter[str], asked: ReadOptions
) -> Session:
    at = moment(started, asked.zone)
    id_ = f"aider-{hashlib.sha256(f'{path.absolute()} {started}'.encode()).hexdigest()[:16]}"
    models = dict.fromkeys(match[1] for _, line in lines if (match := _MODEL.match(line)))
    about = given({"cwd": str(path.absolute().parent), "models": list(models), "time_zone": str(asked.zone)})
    return Session(id_, path, list(_entries(runs(lines), left_out)), None, at, about, left_out=+left_out)


def runs(lines: list[tuple[int, str]]) -> list[_Run]:
    """Cut lines into runs of what was typed, of an answer, and of what Aider says itself.

    Aider ends each line of its own with two blanks, so ``#### `` and ``> `` without them are Markdown of an answer;
    unless an editor has removed all blanks at ends of lines.
    """
    marked = any(line.startswith(("#### ", "> ")) and line.endswith("  ") for _, line in lines)
    found: list[_Run] = []
    is_open = False
    for number, line in lines:
        own = line.endswith("  ") or not marked
        role = USER if own and line.startswith("####") else TOOL if own and line.startswith(">") else ASSISTANT
        text = re.sub(r"^#### ?", "", line).rstrip() if role == USER else line.rstrip()
        if found and found[-1][0] == role and (is_open or role != USER):
            found[-1][1].append(text)
        elif text or role == USER:
            found.append((role, [text], number))
        is_open = role == USER  # an empty line ends what was typed
    return [run for run in found if any(map(str.strip, run[1]))]


def _entries(found: list[_Run], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    asked = ""
    for role, lines, number in found:
        text = "\n".join(lines).strip()
        if role == TOOL:
            yield ToolCall("aider", "\n".join(line.removeprefix("> ") for line in lines), line=number)
            continue
        if role == ASSISTANT:
            text, thoughts = _THINKING.subn("", text)
            left_out[THOUGHTS] += thoughts
            text = text.strip()
            asked = ""
        else:
            command, text = text, typed_of(text)
            left_out["commands to the tool"] += not text
            if text == asked:
                continue  # a question that a command asked stands twice
            asked = text if command != text else ""
        if text:
            yield HistoryMessage(role, text, line=number)


def typed_of(text: str) -> str:
    """Return what a person asked: ``/ask why?`` is ``why?``, ``/add a.py`` is nothing."""
    if text == "<blank>":
        return ""
    if match := _ASKING.match(text):
        return text[match.end() :].strip()
    return "" if _COMMAND.match(text) else text


FORMAT: Final = HistoryFormat("aider", recognise, each(_read), near=(".aider.chat.history.md",))
