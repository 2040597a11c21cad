"""Codex: a rollout of JSON lines for each session. Every message of a recent one stands twice, as item and as event."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import each, object_of, taken
from querymill_histories.rules.contents import given, mapping, records, result_of, text_of, word
from querymill_histories.rules.copies import one_each
from querymill_histories.rules.injected import typed
from querymill_histories.rules.remarks import ATTACHMENTS, INJECTED, INSTRUCTIONS, THOUGHTS, UNDONE, unknown_kind
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

#: Events that are messages, and their roles.
_EVENTS: Final = {"user_message": USER, "agent_message": ASSISTANT}
#: Characters of an id at the end of a file's name.
_ID_CHARS: Final = 36
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
_FILES: Final = ("input_image", "image", "input_file", "input_audio")
#: Kinds of items that the tool writes for itself.
_OF_TOOL: Final = ("ghost_snapshot", "compaction", "compaction_summary", "other", "state")
_RESULTS: Final = ("function_call_output", "custom_tool_call_output", "tool_search_output")


def recognise(head: Head) -> bool:
    """Return whether a file is a rollout."""
    packed = head.packed
    if head.path.suffix == ".json":
        return packed.startswith('{"session":{') and '"items":[' in packed
    if not packed.startswith("{"):
        return False
    first = packed[:2_000]
    is_new = '"type":"session_meta"' in first and '"payload":{' in first
    is_named = head.path.name.startswith("rollout-") and packed.startswith('{"id":"') and '"timestamp":' in first
    return is_new or is_named or '"record_type":"state"' in packed


def _read(path: Path, _asked: ReadOptions) -> Read:
    rollout = _Rollout(path)
    if plain_name(path).suffix == ".json":
        lost: list[UnreadPlace] = []
        whole = mapping(object_of(path, lost))
        yield from lost
        rollout.describe(mapping(whole.get("session")))
        for row in records(whole.get("items"), rollout.left_out):
            rollout.take_item(row, None, None)
    else:
        yield from taken(path, rollout.take)
    if not rollout.is_of_agent:
        yield rollout.session()


class _Rollout:
    """What the lines of a rollout say so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id: str | None = None
        self.started: Any = None
        self.about: dict[str, Any] = {}
        self.models: list[str] = []
        self.is_of_agent = False
        self.events: list[HistoryMessage | ToolCall] = []
        self.items: list[HistoryMessage | ToolCall] = []
        self.results: dict[str, str] = {}
        self.name: str | None = None
        self.left_out: Counter[str] = Counter()

    def take(self, number: int, row: dict[str, Any]) -> None:
        """Take a line."""
        payload = mapping(row.get("payload"))
        match row.get("type"):
            case "session_meta":
                self.describe(payload)
            case "turn_context":
                self._turn(payload)
            case "event_msg":
                self._event(number, payload, row.get("timestamp"))
            case "response_item":
                self.take_item(payload, number, row.get("timestamp"))
            case None if "id" in row and "record_type" not in row:
                self.describe(row)
            case _ if not payload:
                self.take_item(row, number, row.get("timestamp"))
            case _:
                pass

    def describe(self, meta: dict[str, Any]) -> None:
        """Take the head of the file. A forked session repeats that of its origin, which is not its own."""
        if self.id is not None:
            return
        self.id, self.started = word(meta.get("id")), meta.get("timestamp")
        git = mapping(meta.get("git"))
        self.is_of_agent = isinstance(meta.get("source"), dict) and "subagent" in meta["source"]
        self.about = given(
            {
                "cwd": meta.get("cwd"),
                "repository": git.get("repository_url"),
                "branch": git.get("branch"),
                "tool_version": meta.get("cli_version"),
            }
        )

    def _turn(self, payload: dict[str, Any]) -> None:
        model = word(payload.get("model"))
        if model and model not in self.models:
            self.models.append(model)
        self.about.setdefault("cwd", payload.get("cwd"))

    def _event(self, number: int, payload: dict[str, Any], at: Any) -> None:
        kind = payload.get("type")
        if kind in _EVENTS and payload.get("kind", "plain") == "plain":
            self._say(self.events, _EVENTS[kind], str(payload.get("message") or ""), number, at)
        elif kind == "item_completed" and (plan := mapping(payload.get("item"))).get("type") == "Plan":
            self._say(self.events, ASSISTANT, str(plan.get("text") or ""), number, at)
        elif kind == "thread_name_updated":
            self.name = word(payload.get("thread_name")) or self.name
        elif kind == "thread_rolled_back":
            for entries in (self.events, self.items):
                _roll_back(entries, payload.get("num_turns"), self.left_out if entries is self.items else Counter())

    def take_item(self, payload: dict[str, Any], number: int | None, at: Any) -> None:
        """Take an item of the conversation with the model."""
        kind = payload.get("type", "message")
        if kind == "message" and payload.get("role") in (USER, ASSISTANT):
            parts = list(_parts(payload, self.left_out))
            told = [typed(part) for part in parts]  # each part of an item is one text
            self.left_out[INJECTED] += sum(
                bool(part.strip()) and not said for part, said in zip(parts, told, strict=True)
            )
            self._say(self.items, payload["role"], "\n\n".join(filter(None, told)), number, at)
        elif kind == "message":
            self.left_out[INSTRUCTIONS] += 1
        elif kind == "reasoning":
            self.left_out[THOUGHTS] += 1
        elif kind in _CALLS:
            call = ToolCall(
                str(payload.get("name") or kind),
                payload.get("arguments") or payload.get("input") or payload.get("action"),
                id=word(payload.get("call_id")),
                at=moment(at),
                line=number,
            )
            self.items.append(call)
            self.events.append(call)
        elif kind in _RESULTS:
            self.results[str(payload.get("call_id"))] = result_of(payload.get("output") or payload.get("tools"))
        elif kind not in _OF_TOOL:
            self.left_out[unknown_kind(kind)] += 1

    def _say(self, entries: list[HistoryMessage | ToolCall], role: str, text: str, number: int | None, at: Any) -> None:
        text = typed(text) if role == USER else text.strip()
        if text:
            entries.append(HistoryMessage(role, text, None, moment(at), number))

    def session(self) -> Session:
        """Return the session. Events are what the person saw; without any, the items are taken."""
        entries = self.events if any(isinstance(entry, HistoryMessage) for entry in self.events) else self.items
        with_results = [
            ToolCall(entry.name, entry.arguments, self.results.get(entry.id or "", ""), entry.id, entry.at, entry.line)
            if isinstance(entry, ToolCall)
            else entry
            for entry in entries
        ]
        about = given(self.about | {"models": self.models})
        id_, at = self.id or self.path.stem, moment(self.started)
        return Session(id_, self.path, with_results, self.name, at, about, left_out=+self.left_out)


def _parts(payload: dict[str, Any], left_out: Counter[str]) -> Iterator[str]:
    content = payload.get("content")
    if isinstance(content, str):
        yield content
        return
    for part in records(content, left_out):
        left_out[ATTACHMENTS] += part.get("type") in _FILES
        yield text_of(part)


def _roll_back(entries: list[HistoryMessage | ToolCall], turns: Any, left_out: Counter[str]) -> None:
    """Take back the last turns, each from what was typed on."""
    typed_at = [
        number for number, entry in enumerate(entries) if isinstance(entry, HistoryMessage) and entry.role == USER
    ]
    if isinstance(turns, int) and turns > 0 and typed_at:
        back_to = typed_at[-min(turns, len(typed_at))]
        left_out[UNDONE] += sum(isinstance(entry, HistoryMessage) for entry in entries[back_to:])
        del entries[back_to:]


def read(paths: Sequence[Path], asked: ReadOptions) -> Read:
    """Read rollouts; several with one id, which is the end of their names, are one session."""
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for path in paths:
        files[plain_name(path).stem[-_ID_CHARS:]].append(path)
    for parts in files.values():
        sessions: list[Session] = []
        for found in each(_read)(parts, asked):
            if isinstance(found, Session):
                sessions.append(found)
            else:
                yield found
        yield from one_each(sessions)


FORMAT: Final = HistoryFormat(
    "codex", recognise, read, homes=(".codex/sessions", ".codex/archived_sessions", "$CODEX_HOME/sessions")
)
