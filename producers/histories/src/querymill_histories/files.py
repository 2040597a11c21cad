"""Read JSON, JSON lines and SQLite files of other programs, which may be writing to them, without changing anything."""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, TextIO

from querymill_histories.compressed import BROKEN as DAMAGED
from querymill_histories.compressed import open_plain, plain_name
from querymill_histories.session import HEAD_BYTES, Head, Read, ReadOptions, Session, UnreadPlace

#: Characters that are read of a large list at first; twice as many each time an element does not fit.
_CHUNK: Final = 1 << 20
#: A longer line is not read into memory.
_MAX_LINE_BYTES: Final = 64 << 20
#: A larger file of one JSON object is not read into memory.
_MAX_OBJECT_BYTES: Final = 1 << 30

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


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]] | UnreadPlace]:
    """Read JSON lines with their numbers, from 1. A broken line is named."""
    with open_plain(path) as file:
        number = 0
        while line := file.readline(_MAX_LINE_BYTES):
            number += 1
            if not line.strip(b"\0 \t\r\n\xef\xbb\xbf"):
                continue
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                yield UnreadPlace(f"{path}:{number}", _reason_of_line(error), is_cut=not line.endswith(b"\n"))
                continue
            if isinstance(row, dict):
                yield number, row
            else:
                yield UnreadPlace(f"{path}:{number}", "not a JSON object")


def _reason_of_line(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}"
    return reason_of(error)


def object_of(path: Path) -> Any:
    """Read a file that holds one JSON value; lines before it, which a command printed, are skipped.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too large, or not JSON.
        RecursionError: It is nested too deeply.
    """
    with open_plain(path) as file:
        read = file.read(_MAX_OBJECT_BYTES + 1)
    if len(read) > _MAX_OBJECT_BYTES:
        raise ValueError(f"larger than {_MAX_OBJECT_BYTES >> 20} MiB")
    text = read.decode("utf-8-sig")
    if text.lstrip()[:1] in ("{", "["):
        return json.loads(text)
    start = text.find("\n{")
    return json.loads(text if start < 0 else text[start:])


def elements_of(path: Path) -> Iterator[Any]:
    """Yield the elements of a JSON list one by one; of another value, that value. Only one is in memory.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not JSON from here on.
    """
    with TextIOWrapper(open_plain(path), encoding="utf-8-sig") as file:
        held = file.read(_CHUNK).lstrip()
        if held.startswith("["):
            yield from _elements(file, held[1:])
            return
    yield object_of(path)


def _elements(file: TextIO, held: str) -> Iterator[Any]:
    """Yield the elements of a list, of which ``held`` is read."""
    decoder = json.JSONDecoder()
    while not (held := held.lstrip(", \t\r\n")).startswith("]"):
        try:
            value, end = decoder.raw_decode(held)
        except json.JSONDecodeError:
            more = file.read(max(_CHUNK, len(held)))
            if not more:
                raise
            held += more
            continue
        yield value
        held = held[end:]


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
