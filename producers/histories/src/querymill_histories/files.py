"""Read JSON, JSON lines and SQLite files of other programs, which may be writing to them, without changing anything."""

import json
import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, TextIO

from querymill_histories.beginnings import end_of
from querymill_histories.compressed import BROKEN as DAMAGED
from querymill_histories.compressed import open_plain, plain_name
from querymill_histories.rules.remarks import NOT_UTF8, quantity
from querymill_histories.salvage import goes_on, value_of
from querymill_histories.session import HEAD_BYTES, Head, Read, ReadOptions, Session, UnreadPlace

#: Characters that are read of a large list at first; twice as many each time an element does not fit.
_CHUNK: Final = 1 << 20
#: A longer line is not read into memory.
_MAX_LINE_BYTES: Final = 64 << 20
#: A larger file of one JSON object is not read into memory.
_MAX_OBJECT_BYTES: Final = 1 << 30

#: What stands between the elements of a list.
_BETWEEN: Final = re.compile(r"[, \t\r\n]*")

#: What a damaged file raises when it is read, and one whose values are of other types than the format has.
BROKEN: Final = (
    *DAMAGED,
    OSError,
    ValueError,
    RecursionError,
    sqlite3.Error,
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
)


def head_of(path: Path) -> Head:
    """Return the first bytes of a file.

    Raises:
        OSError: It cannot be read.
    """
    with open_plain(path) as file:
        return Head(plain_name(path), file.read(HEAD_BYTES))


def each(
    read: Callable[[Path, ReadOptions], Iterator[Session | UnreadPlace]],
) -> Callable[[Sequence[Path], ReadOptions], Read]:
    """Make a reader of many files out of one that reads a file. A broken file is named, the next is read."""

    def read_all(paths: Sequence[Path], asked: ReadOptions) -> Read:
        for path in paths:
            try:
                yield from read(path, asked)
            except BROKEN as error:
                yield UnreadPlace(str(path), reason_of(error))

    return read_all


def each_record(
    path: Path, what: str, is_known: Callable[[Any], bool], session_of: Callable[[Path, int, Any], Session]
) -> Iterator[Session | UnreadPlace]:
    """Make a session of each element of a JSON list. One that is broken, or is none, is named, and the next is read.

    Args:
        path: The file.
        what: How an element is called: ``conversation of ChatGPT``.
        is_known: Whether an element is one.
        session_of: Makes a session of the file's element with this number, from 1.
    """
    for number, record in enumerate(elements_of(path), 1):
        place = f"{path}: {what.split()[0]} {number}"
        if isinstance(record, UnreadPlace):
            yield record
            continue
        try:
            yield session_of(path, number, record) if is_known(record) else UnreadPlace(place, f"no {what}")
        except BROKEN as error:
            yield UnreadPlace(place, reason_of(error))


def reason_of(error: Exception) -> str:
    """Say why something could not be read."""
    match error:
        case UnicodeDecodeError():
            return "not UTF-8"
        case json.JSONDecodeError():
            return f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        case RecursionError():
            return "nested too deeply"
        case OSError(strerror=str(why)):
            return why
        case AttributeError() | KeyError() | IndexError() | TypeError():
            return f"not in the shape of its format: {error}"
        case _:
            return str(error)


def text_lines(path: Path, left_out: Counter[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, from 1. Characters that are not UTF-8 are counted and replaced.

    Raises:
        OSError: It cannot be read.
    """
    with open_plain(path) as file:
        number = 0
        while octets := file.readline(_MAX_LINE_BYTES):
            number += 1
            try:
                line = octets.decode()
            except UnicodeDecodeError:
                line = octets.decode(errors="replace")
                left_out[NOT_UTF8] += 1
            yield number, line.rstrip("\r\n")


def text_in(path: Path, left_out: Counter[str]) -> str:
    """Return a text, each line of which ends with a line feed.

    Raises:
        OSError: It cannot be read.
    """
    return "".join(f"{line}\n" for _, line in text_lines(path, left_out))


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]] | UnreadPlace]:
    """Read JSON lines with their numbers, from 1. A broken line is named."""
    with open_plain(path) as file:
        number = 0
        while line := file.readline(_MAX_LINE_BYTES):
            number += 1
            if not line.strip(b"\0 \t\r\n\xef\xbb\xbf"):
                continue
            try:
                row = json.loads(line.decode("utf-8-sig"), strict=False)
            except (ValueError, RecursionError) as error:
                yield UnreadPlace(f"{path}:{number}", _reason_of_line(error), is_cut=not line.endswith(b"\n"))
                continue
            if isinstance(row, dict):
                yield number, row
            else:
                yield UnreadPlace(f"{path}:{number}", "not a JSON object")


def taken(path: Path, take: Callable[[int, dict[str, Any]], None]) -> Iterator[UnreadPlace]:
    """Give each line of a file of JSON lines to ``take``. Yield the lines that are broken; they cost no other."""
    for line in lines_of(path):
        if isinstance(line, UnreadPlace):
            yield line
            continue
        try:
            take(*line)
        except BROKEN as error:
            yield UnreadPlace(f"{path}:{line[0]}", reason_of(error))


def _reason_of_line(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}"
    return reason_of(error)


def object_of(path: Path, lost: list[UnreadPlace] | None = None) -> Any:
    """Read a file that holds one JSON value; lines before it, which a command printed, are skipped.

    Args:
        path: The file.
        lost: Gets the parts that are broken, in place of an error; the rest is read.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too large, or not JSON.
        RecursionError: It is nested too deeply.
    """
    with open_plain(path) as file:
        read = file.read(_MAX_OBJECT_BYTES + 1)
    if len(read) > _MAX_OBJECT_BYTES:
        raise ValueError(f"larger than {_MAX_OBJECT_BYTES >> 20} MiB")
    losses: list[str] = []
    try:
        text = read.decode("utf-8-sig")
    except UnicodeDecodeError:
        if lost is None:
            raise
        text = read.decode("utf-8-sig", "replace")
        losses.append(quantity(text.count(chr(0xFFFD)), "characters that are not UTF-8"))
    start = 0 if text.lstrip()[:1] in ("{", "[") else max(text.find("\n{"), 0)
    if lost is None:
        return json.loads(text[start:], strict=False)
    value = value_of(text[start:], losses)
    lost += [UnreadPlace(f"{path}", why, is_cut=why.endswith("is read")) for why in losses]
    return value


def elements_of(path: Path) -> Iterator[Any]:
    """Yield the elements of a JSON list one by one; of another value, that value. Only one is in memory.

    One that is broken is named, and the next is read.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not JSON.
    """
    with TextIOWrapper(open_plain(path), encoding="utf-8", errors="replace") as file:
        held = file.read(_CHUNK).lstrip()
        if held.startswith("["):
            yield from _elements(path, file, held[1:])
            return
    lost: list[UnreadPlace] = []
    yield object_of(path, lost)
    yield from lost


def _elements(path: Path, file: TextIO, held: str) -> Iterator[Any]:
    """Yield the elements of a list, of which ``held`` is read."""
    decoder = json.JSONDecoder(strict=False)
    at = number = 0
    while not held.startswith("]", at := _BETWEEN.match(held, at).end()):  # type: ignore[union-attr]
        try:
            value, end = decoder.raw_decode(held, at)
        except (json.JSONDecodeError, RecursionError) as error:
            ends = None if goes_on(error, held) else end_of(held, at)
            if ends is None and (more := file.read(max(_CHUNK, len(held) - at))):
                held, at = held[at:] + more, 0
                continue
            ends = end_of(held, at)
            why = f"not JSON: {error.msg}" if isinstance(error, json.JSONDecodeError) else reason_of(error)
            yield UnreadPlace(f"{path}: element {number + 1}", why, is_cut=ends is None)
            if ends is None:
                return
            end = ends
        else:
            yield value
        number, at = number + 1, end


@contextmanager
def database_at(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file for reading. One with a write-ahead log is copied first, so that nothing is written to it.

    Raises:
        OSError: It cannot be read.
        sqlite3.Error: It is damaged.
    """
    wal = path.with_name(f"{path.name}-wal")
    if not (wal.exists() and wal.stat().st_size):
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            yield connection
        return
    with tempfile.TemporaryDirectory(prefix="querymill-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, f"{copy}-wal")
        with closing(sqlite3.connect(copy)) as connection:
            yield connection


def has_tables(path: Path, *names: str) -> bool:
    """Return whether there is an SQLite file with these tables."""
    try:
        with database_at(path) as database:
            rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except BROKEN:
        return False
    return {name for (name,) in rows}.issuperset(names)
