"""What a format returns: sessions of messages and tool calls, and what could not be read."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from querymill_histories.beginnings import records_in

#: Roles of the messages of an assistant's history. In a chat of people, the role is the author's name.
USER, ASSISTANT, TOOL = "user", "assistant", "tool"

#: How tool calls are shown: not at all, in a line, or with arguments and result.
Tools = Literal["none", "summary", "full"]

#: How many bytes of a file a format sees when it recognises it.
HEAD_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message: its text, the role or the author, and where it stands in its file.

    ``source`` is that file, if it is another than that of its session.
    """

    role: str
    text: str
    id: str | None = None
    at: datetime | None = None
    line: int | None = None
    source: Path | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call with its arguments, and its result where the file has one."""

    name: str
    arguments: Any = None
    result: str = ""
    id: str | None = None
    at: datetime | None = None
    line: int | None = None
    source: Path | None = None


@dataclass(slots=True)
class Session:
    """A session as a file tells it, or several files: the ``others`` than its ``source``.

    Without ``started_at`` it starts with its first message that has a time. ``about`` holds more of what the file says,
    such as the models and the working directory. ``left_out`` counts what the file holds and the session does not:
    ``{"attachments": 2}``.
    """

    id: str
    source: Path
    entries: list[HistoryMessage | ToolCall]
    name: str | None = None
    started_at: datetime | None = None
    about: dict[str, Any] = field(default_factory=dict)
    others: tuple[Path, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files from which it was read."""
        return tuple(dict.fromkeys((self.source, *self.others)))

    def entries_for(self, source: Path) -> list[HistoryMessage | ToolCall]:
        """Return the entries as those of a session whose file is another: each says which file it is in."""
        if source == self.source:
            return self.entries
        return [replace(entry, source=entry.source or self.source) for entry in self.entries]


@dataclass(frozen=True, slots=True)
class UnreadPlace:
    """A file, or a place in one, that could not be read. ``is_cut``: it may be a line that is still being written."""

    place: str
    reason: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a caller wants to be read: ``zone`` is that of times which name none."""

    zone: tzinfo = UTC


@dataclass(frozen=True)
class Head:
    """The path of a file and its first bytes."""

    path: Path
    start: bytes

    @cached_property
    def text(self) -> str:
        """The first bytes as text, without a byte order mark."""
        if self.start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self.start.decode("utf-16", errors="replace")
        return self.start.decode("utf-8-sig", errors="replace")

    @cached_property
    def packed(self) -> str:
        """The text without white space: JSON looks alike then, however it is indented."""
        return "".join(self.text.split())

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The JSON objects that the file begins with: of a list, of lines, or the one that it is."""
        return records_in(self.text)

    @property
    def is_whole(self) -> bool:
        """Whether the first bytes are the whole file."""
        return len(self.start) < HEAD_BYTES


Read = Iterator[Session | UnreadPlace]
#: Which other files must be read with one that has changed: those of its sessions; if it is new those of its folder, as
#: it may go on with a session of another; those of its folder; all of its format.
ReadWith = Literal["sessions", "new", "folder", "format"]


@dataclass(frozen=True, slots=True)
class HistoryFormat:
    """A format of histories.

    ``homes`` are patterns below the home directory where the tool keeps its files, ``near`` below the working
    directory. ``read`` gets all files of the format at once, because a session may stand in several. ``read_with`` says
    which of them it needs for those that have changed.
    """

    name: str
    recognise: Callable[[Head], bool]
    read: Callable[[Sequence[Path], ReadOptions], Read]
    homes: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    read_with: ReadWith = "sessions"
