"""``querymill logs``: what the parts of the embedded stack, its workers and its gateway have logged."""

import json
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from querymill.cli.exits import WrongUse
from querymill.cli.log_reading import LEVELS, LogLine, chosen, dated, in_order, read_line, shown
from querymill.cli.stack import DataOption, JsonOption, stack_in
from querymill.cli.terminal import Console, echo

#: Lines of each log that are looked at for the last ones; how often a log that is followed is looked at, in seconds.
LOOKED_AT, EVERY_S = 100_000, 0.25
_STYLES: Final = {"debug": "dim", "warning": "yellow", "error": "red", "critical": "red bold"}
#: What watches the parts. They say what goes wrong; it says that it watches.
_WATCHERS: Final = ("supervisord", "leash")

Level = StrEnum("Level", {level: level for level in LEVELS})  # type: ignore[misc]  # its members are those of a tuple


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(logs)


def logs(
    part: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART]…", help="such as gateway or worker-search; the beginning of a name will do (default: all)"
        ),
    ] = None,
    data: DataOption = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="go on as lines come, until Ctrl-C")] = False,
    level: Annotated[Level, typer.Option(help="only lines that are at least so grave")] = Level("info"),
    job: Annotated[
        str, typer.Option(metavar="ID", help="only lines of this job; the beginning of its id will do")
    ] = "",
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="so many of the last lines")] = 200,
    as_json: JsonOption = False,
) -> None:
    """Show what the parts of `querymill up` have logged, all in one order of time.

    Workers and gateways of your own write to their standard error: your supervisor keeps that.
    """
    files = files_of(data, part or [])
    found = in_order([read_line(file.stem, written) for written in last_lines(file)] for file in files)
    width = max(len(file.stem) for file in files)
    console = Console(soft_wrap=True)
    ends = {file: _size(file) for file in files}
    for line in deque(chosen(found, level=level.value, job=job), maxlen=lines):
        _print(console, line, width, as_json=as_json)
    if follow:
        for line in chosen(_coming(ends), level=level.value, job=job):
            _print(console, line, width, as_json=as_json)


def files_of(data: Path | None, parts: Sequence[str]) -> list[Path]:
    """Return the logs of the parts whose names begin so, or of all.

    Raises:
        WrongUse: There is none.
    """
    folder = stack_in(data).data / "logs"
    known = sorted(folder.glob("*.log"))
    if not known:
        raise WrongUse(f"no logs in {folder}: `querymill up` writes them there")
    names = [file.stem for file in known]
    for part in parts:
        if not any(name.startswith(part) for name in names):
            raise WrongUse(f"PART: {part!r} has no log in {folder}; these have: {', '.join(names)}")
    if parts:
        return [file for file in known if file.stem.startswith(tuple(parts))]
    return [file for file in known if file.stem not in _WATCHERS] or known


def last_lines(file: Path) -> Iterable[str]:
    """Return the last lines of a log, and of the one that it replaced."""
    kept: deque[str] = deque(maxlen=LOOKED_AT)
    for each in (file.with_name(f"{file.name}.1"), file):
        try:
            with each.open(encoding="utf-8", errors="replace") as opened:
                kept.extend(line.rstrip("\n") for line in opened)
        except FileNotFoundError:
            continue
    return [line for line in kept if line.strip()]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _coming(ends: dict[Path, int]) -> Iterator[LogLine]:
    """Yield the lines that are added to logs, for ever. A log that is shorter than before was started again."""
    while True:
        time.sleep(EVERY_S)
        for file, end in ends.items():
            size = _size(file)
            start = end if size >= end else 0
            if size == start:
                continue
            with file.open("rb") as opened:
                opened.seek(start)
                whole = opened.read(size - start).rpartition(b"\n")[0]
            ends[file] = start + len(whole) + 1 if whole else start
            yield from dated(read_line(file.stem, line) for line in whole.decode(errors="replace").split("\n") if line)


def _print(console: Console, line: LogLine, width: int, *, as_json: bool) -> None:
    if as_json:
        echo(json.dumps(asdict(line), ensure_ascii=False))
    else:
        console.print(Text(shown(line, width), _STYLES.get(line.level, "")))
