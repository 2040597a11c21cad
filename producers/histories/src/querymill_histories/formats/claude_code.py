"""Claude Code: a file of JSON lines for each session, in a folder for each working directory."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import BROKEN, reason_of, taken
from querymill_histories.rules.branches import abandoned
from querymill_histories.rules.contents import given, mapping, mappings, result_of, spoken, word
from querymill_histories.rules.injected import typed
from querymill_histories.rules.remarks import (
    ATTACHMENTS,
    INJECTED,
    OF_AGENTS,
    OTHER_BRANCHES,
    SYSTEM_LINES,
    THOUGHTS,
    unknown_kind,
)
from querymill_histories.rules.resumed import joined
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

#: Lines of a user that no person typed.
_NOT_TYPED: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
#: The texts of an assistant that say nothing.
_EMPTY: Final = ("(no content)", "No response requested.")
#: Kinds of lines that were said, and those that the tool writes for itself.
_SPOKEN: Final = ("user", "assistant")
_OF_TOOL: Final = (
    "system", "summary", "file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "pr-link",
    "progress", "agent-name", "agent-setting", "agent-color", "mode", "tag", "worktree-state", "marble-origami-commit",
)  # fmt: skip
#: Kinds of blocks.
_FILES: Final = ("image", "document")
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_KNOWN: Final = ("text", "tool_use", "server_tool_use", "web_search_tool_result", "tool_result", *_THOUGHTS)
#: The field of a line that names its session, for each type of line that does.
_TITLES: Final = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}


def recognise(head: Head) -> bool:
    """Return whether a file has lines of Claude Code."""
    packed = head.packed
    if not packed.startswith("{"):
        return False
    is_message = '"parentUuid":' in packed and ('"sessionId":' in packed or '"isSidechain":' in packed)
    starts = (
        '{"type":"file-history-snapshot"', '{"type":"queue-operation"', '{"type":"summary","summary":',
        '{"type":"last-prompt"', '{"type":"permission-mode"', '{"type":"pr-link"',
    )  # fmt: skip
    return is_message or (packed.startswith(starts) and head.path.suffix == ".jsonl")


@dataclass(slots=True)
class _Told:
    """What the lines of one session say. ``parents`` holds every line with an id, ``entries`` what is shown of it."""

    id: str
    source: Path
    parents: dict[str, str | None] = field(default_factory=dict)
    entries: dict[str, list[HistoryMessage | ToolCall]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    title: str | None = None
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def typed(self) -> list[str]:
        """The lines that a person typed."""
        return [id_ for id_, said in self.entries.items() if any(entry_is_typed(entry) for entry in said)]

    def spoken(self) -> list[HistoryMessage | ToolCall]:
        """Return the entries that are not on an abandoned branch, in the order of the file."""
        left_out = abandoned(self.parents, self.typed)
        left = [entry for id_ in left_out for entry in self.entries.get(id_, ())]
        self.left_out[OTHER_BRANCHES] += sum(isinstance(entry, HistoryMessage) for entry in left)
        return [entry for id_, entries in self.entries.items() if id_ not in left_out for entry in entries]


def entry_is_typed(entry: HistoryMessage | ToolCall) -> bool:
    """Return whether a person typed it."""
    return isinstance(entry, HistoryMessage) and entry.role == USER


def read(paths: Sequence[Path], _asked: ReadOptions) -> Read:
    """Read the sessions of each folder; the transcripts of its agents belong to them and are no sessions."""
    folders: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in paths:
        if not (path.name.startswith("agent-") or "subagents" in path.parts[-3:-1]):
            folders[path.parent].append(path)
    for files in folders.values():
        yield from _read_folder(files)


def _read_folder(files: Sequence[Path]) -> Read:
    told: dict[str, _Told] = {}
    summaries: list[tuple[str, str]] = []
    results: dict[str, str] = {}
    for path in files:
        try:
            yield from taken(path, partial(_take, path, told, summaries, results))
        except BROKEN as error:
            yield UnreadPlace(str(path), reason_of(error))
    for leaf, summary in summaries:
        for session in told.values():
            if leaf in session.parents:
                session.title = session.title or summary
    sessions = [_session(each, results) for each in told.values()]
    links = {each.id: tuple(parent for parent in each.parents.values() if parent) for each in told.values()}
    yield from joined(sessions, {each.id: frozenset(each.parents) for each in told.values()}, links)


def _take(
    path: Path,
    told: dict[str, _Told],
    summaries: list[tuple[str, str]],
    results: dict[str, str],
    number: int,
    row: dict[str, Any],
) -> None:
    kind = row.get("type")
    if kind == "summary" and (leaf := word(row.get("leafUuid"))):
        summaries.insert(0, (leaf, str(row.get("summary") or "")))
        return
    session_id = word(row.get("sessionId")) or (path.stem if kind in _SPOKEN else "")
    if row.get("isSidechain") and session_id in told:
        told[session_id].left_out[OF_AGENTS] += kind in _SPOKEN
    if row.get("isSidechain") or not session_id:
        return
    session = told.setdefault(session_id, _Told(session_id, path))
    if kind in _TITLES:
        session.title = word(row.get(_TITLES[str(kind)])) or session.title
        return
    id_ = word(row.get("uuid"))
    if id_ is None or id_ in session.parents:
        return
    session.parents[id_] = word(row.get("parentUuid"))  # none at a compaction: what came before stays
    if entries := list(_entries(number, row, results, session.left_out)):
        session.entries[id_] = entries
    session.about |= given({"cwd": row.get("cwd"), "branch": row.get("gitBranch"), "tool_version": row.get("version")})
    model = word(mapping(row.get("message")).get("model"))
    if model and model != "<synthetic>" and model not in session.models:
        session.models.append(model)


def _entries(
    number: int, row: dict[str, Any], results: dict[str, str], left_out: Counter[str]
) -> Iterator[HistoryMessage | ToolCall]:
    match row.get("type"):
        case "user":
            yield from _of_user(number, row, results, left_out)
        case "assistant":
            yield from _of_assistant(number, row, left_out)
        case "attachment":
            attached = mapping(row.get("attachment"))
            if attached.get("type") == "queued_command" and attached.get("commandMode", "prompt") == "prompt":
                yield from _typed(number, row, attached.get("prompt"), left_out)
            else:
                left_out[INJECTED] += 1
        case str(kind) if kind in _OF_TOOL:
            pass
        case kind:
            left_out[f"lines of the kind {str(kind)[:60]!r}"] += 1


def _of_user(
    number: int, row: dict[str, Any], results: dict[str, str], left_out: Counter[str]
) -> Iterator[HistoryMessage]:
    content = mapping(row.get("message")).get("content")
    for block in mappings(content):
        if block.get("type") == "tool_result":
            results[str(block.get("tool_use_id"))] = result_of(block.get("content"))
        elif block.get("type") in _FILES:
            left_out[ATTACHMENTS] += 1
        elif block.get("type") != "text":
            left_out[unknown_kind(block.get("type"))] += 1
    if any(row.get(flag) for flag in _NOT_TYPED):
        left_out[INJECTED] += 1
    else:
        yield from _typed(number, row, content, left_out)


def _typed(number: int, row: dict[str, Any], content: Any, left_out: Counter[str]) -> Iterator[HistoryMessage]:
    blocks = [content] if isinstance(content, str) else [
        spoken(block.get("text"), left_out) for block in mappings(content) if block.get("type") == "text"
    ]  # fmt: skip
    told = [typed(block) for block in blocks]
    left_out[INJECTED] += sum(bool(block.strip()) and not said for block, said in zip(blocks, told, strict=True))
    if text := "\n\n".join(filter(None, told)):
        yield HistoryMessage(USER, text, word(row.get("uuid")), moment(row.get("timestamp")), number)


def _of_assistant(number: int, row: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage | ToolCall]:
    message = mapping(row.get("message"))
    if message.get("model") == "<synthetic>" or row.get("isApiErrorMessage"):
        left_out[SYSTEM_LINES] += 1
        return
    id_, at = word(message.get("id")) or word(row.get("uuid")), moment(row.get("timestamp"))
    content = message.get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else mappings(content):
        kind, text = block.get("type"), spoken(block.get("text"), left_out)
        left_out[THOUGHTS] += kind in _THOUGHTS
        if kind == "text" and text not in ("", *_EMPTY):
            yield HistoryMessage(ASSISTANT, text, id_, at, number)
        elif kind not in _KNOWN:
            left_out[unknown_kind(kind)] += 1
        elif kind == "tool_use":
            yield ToolCall(str(block.get("name")), block.get("input"), "", word(block.get("id")), at, number)


def _session(told: _Told, results: dict[str, str]) -> Session:
    entries: list[HistoryMessage | ToolCall] = []
    seen: set[tuple[str | None, str]] = set()
    for entry in told.spoken():
        if isinstance(entry, ToolCall):
            entries.append(replace(entry, result=results.get(entry.id or "", "")))
        elif (entry.id, entry.text) not in seen:  # a stream may be written twice
            seen.add((entry.id, entry.text))
            entries.append(entry)
    started = next((entry.at for entry in entries if entry_is_typed(entry)), None)
    about = told.about | given({"models": told.models})
    return Session(told.id, told.source, entries, told.title, started, about, left_out=+told.left_out)


FORMAT: Final = HistoryFormat(
    "claude-code",
    recognise,
    read,
    homes=(".claude/projects", ".config/claude/projects", "$CLAUDE_CONFIG_DIR/projects"),
    read_with="new",
)
