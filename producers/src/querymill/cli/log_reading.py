"""What the lines of logs say: when, how grave, in which words and of which job. Pure.

Workers and gateways write JSON, a line each. Servers write lines of their own.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

#: The levels, the least grave first.
LEVELS: Final = ("debug", "info", "warning", "error", "critical")
#: How servers name a level: the words of PostgreSQL and of most others, and the signs of Valkey.
_WORDS: Final = re.compile(
    r"\b(?P<word>DEBUG|INFO|LOG|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|PANIC|CRIT|EXCEPTION)\b"
)
_NAMED: Final = {
    "DEBUG": "debug", "WARN": "warning", "WARNING": "warning", "ERROR": "error", "EXCEPTION": "error",
    "CRITICAL": "critical", "CRIT": "critical", "FATAL": "critical", "PANIC": "critical",
}  # fmt: skip
_VALKEY: Final = re.compile(r"\d+:[A-Z] (?P<at>\d{1,2} [A-Z][a-z]{2} \d{4} [\d:]{8}\.\d{3}) (?P<sign>[.\-*#]) ")
_SIGNS: Final = {".": "debug", "-": "debug", "*": "info", "#": "warning"}
_ISO: Final = re.compile(r"(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)(?: ?(?:Z|UTC|\+00:?00))?")
#: Fields of a line that are shown in places of their own, or tell a person nothing.
_APART: Final = frozenset(("event", "level", "timestamp", "logger", "lineno", "filename", "func_name"))
_JOB: Final = ("job_id", "job")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a part's log. ``at`` is in seconds since the epoch, None if it has no time of its own.

    ``fields`` are those of a line in JSON, in their order; ``text`` is what it says, without time and level.
    """

    part: str
    text: str
    at: float | None = None
    level: str = "info"
    fields: Mapping[str, Any] = field(default_factory=dict)

    def is_of(self, job: str) -> bool:
        """Return whether it names a job by the beginning of its id."""
        if not self.fields:
            return f" {job}" in f" {self.text}"
        return any(str(self.fields[name]).startswith(job) for name in _JOB if name in self.fields)


def read_line(part: str, written: str) -> LogLine:
    """Read a line of a log.

    >>> read_line("gateway", '{"event": "stopping", "level": "warning", "timestamp": "2026-11-27T17:00:00Z"}').level
    'warning'
    >>> read_line("postgres", "2026-11-27 17:00:00.120 UTC [7] FATAL:  no such role").level
    'critical'
    """
    if written.startswith("{"):
        try:
            fields = json.loads(written)
            return LogLine(part, str(fields.get("event", "")), _time(fields.get("timestamp")), _level(fields),
                           {name: value for name, value in fields.items() if name not in _APART})  # fmt: skip
        except ValueError:
            pass
    if valkey := _VALKEY.match(written):
        at = datetime.strptime(valkey["at"], "%d %b %Y %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()
        return LogLine(part, written[valkey.end() :], at, _SIGNS[valkey["sign"]])
    found, word = _ISO.match(written), _WORDS.search(written[:120])
    text = written[found.end() :].lstrip(" :-") if found else written
    return LogLine(
        part, text, _time(found["at"]) if found else None, _NAMED.get(word["word"], "info") if word else "info"
    )


def _level(fields: Mapping[str, Any]) -> str:
    level = str(fields.get("level", "info")).lower()
    return level if level in LEVELS else "info"


def _time(written: Any) -> float | None:
    try:
        read = datetime.fromisoformat(str(written).replace(",", "."))
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def dated(lines: Iterable[LogLine]) -> Iterator[LogLine]:
    """Give each line without a time that of the line before it in its log, which it continues."""
    at: float | None = None
    for line in lines:
        at = at if line.at is None else line.at
        yield replace(line, at=at)


def chosen(lines: Iterable[LogLine], *, level: str = "debug", job: str = "") -> Iterator[LogLine]:
    """Yield the lines that are at least as grave as a level, and of a job if one is named."""
    least = LEVELS.index(level)
    for line in lines:
        if LEVELS.index(line.level) >= least and (not job or line.is_of(job)):
            yield line


def in_order(logs: Iterable[Iterable[LogLine]]) -> list[LogLine]:
    """Return the lines of several logs in the order of their times; those of one log keep their order."""
    return sorted((line for log in logs for line in dated(log)), key=lambda line: line.at or 0.0)


def shown(line: LogLine, width: int) -> str:
    """Write a line for people: the time of the day in UTC, the part, the level, the words, then the fields."""
    at = "" if line.at is None else f"{datetime.fromtimestamp(line.at, UTC):%H:%M:%S.%f}"[:-3]
    said = " ".join([line.text, *(f"{name}={_brief(value)}" for name, value in line.fields.items())])
    return f"{at:<12} {line.part:<{width}} {line.level:<8} {said}".rstrip()


def _brief(value: Any) -> str:
    return value if isinstance(value, str) and " " not in value else json.dumps(value, ensure_ascii=False)
