"""Discord: what a person gets who asks for the own data: a folder for each channel, with the own messages only."""

import csv
from collections import Counter
from collections.abc import Iterator
from datetime import tzinfo
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from querymill_histories.compressed import open_plain, plain_name
from querymill_histories.files import BROKEN, elements_of, object_of
from querymill_histories.rules.contents import given, mapping, spoken, word
from querymill_histories.rules.remarks import ATTACHMENTS, CUT, NO_OBJECTS, NOT_UTF8, WITHOUT_TEXT
from querymill_histories.rules.times import counted_moment
from querymill_histories.session import Head, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

_COLUMNS: Final = ("ID", "Timestamp", "Contents", "Attachments")
#: What stands beside the messages of a channel, and beside all channels.
CHANNEL, INDEX = "channel.json", "index.json"
_SELF: Final = "me"


def is_package(head: Head) -> bool:
    """Return whether a file holds messages of a channel, or describes one."""
    if head.path.name == CHANNEL:
        return any("id" in record and "type" in record for record in head.records[:1])
    if head.path.name == INDEX:
        return bool(head.records) and any(head.path.parent.glob(f"*/{CHANNEL}"))
    if head.path.suffix == ".csv":
        first = head.text.split("\n", 1)[0]
        return tuple(name.strip().strip('"') for name in first.split(",")) == _COLUMNS
    return any({"ID", "Timestamp", "Contents"} <= record.keys() for record in head.records)


def read_package(path: Path, asked: ReadOptions) -> Read:
    """Read the messages of a channel; of the other files nothing, as they are read with it.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not JSON.
    """
    if path.name in (CHANNEL, INDEX):
        return
    left_out: Counter[str] = Counter()
    lost: list[UnreadPlace] = []
    rows = _of_csv(path, left_out) if plain_name(path).suffix == ".csv" else _of_json(path, left_out, lost)
    me = _owner(path.parent.parent.parent)
    said = list(_messages(rows, me, asked.zone, left_out))
    yield from lost
    channel = mapping(_beside(path.with_name(CHANNEL)))
    id_ = word(channel.get("id")) or path.parent.name.removeprefix("c")
    server = word(mapping(channel.get("guild")).get("name"))
    name = word(mapping(_beside(path.parent.parent / INDEX)).get(id_)) or word(channel.get("name"))
    title = f"{name} ({server})" if name and server and server not in name else name
    said.sort(key=lambda one: one.at.timestamp() if one.at else 0.0)  # the newest stands first
    yield Session(id_, path, list(said), title, None, given({"server": server}), left_out=+left_out)


def _beside(path: Path) -> Any:
    try:
        return object_of(path)
    except BROKEN:
        return None


def _owner(package: Path) -> str:
    """Return the name of whose data it is. The folder ``account`` is called ``Account`` in newer packages."""
    for folder in ("account", "Account"):
        user = mapping(_beside(package / folder / "user.json"))
        if name := word(user.get("global_name")) or word(user.get("username")):
            return name
    return _SELF


def _of_json(path: Path, left_out: Counter[str], lost: list[UnreadPlace]) -> Iterator[dict[str, Any]]:
    for row in elements_of(path):
        if isinstance(row, UnreadPlace):
            lost.append(row)
        elif isinstance(row, dict):
            yield row
        else:
            left_out[NO_OBJECTS] += 1


def _of_csv(path: Path, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    with TextIOWrapper(open_plain(path), encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(line.replace("\0", "") for line in file)
        next(reader, None)
        for row in reader:
            left_out[NOT_UTF8] += any("\ufffd" in cell for cell in row)
            if len(row) < len(_COLUMNS) - 1:
                left_out[CUT] += bool(row)
            else:
                yield dict(zip(_COLUMNS, (cell.replace("\r\n", "\n") for cell in (*row, "")), strict=False))


def _messages(
    rows: Iterator[dict[str, Any]], me: str, zone: tzinfo, left_out: Counter[str]
) -> Iterator[HistoryMessage]:
    for row in rows:
        files = len(_attached(row.get("Attachments")))
        left_out[ATTACHMENTS] += files
        if text := spoken(row.get("Contents"), left_out):
            at = counted_moment(row.get("Timestamp") or "without", left_out, zone)
            yield HistoryMessage(me, text, word(row.get("ID")), at)
        elif not files:
            left_out[WITHOUT_TEXT] += 1


def _attached(value: Any) -> list[Any]:
    """Return the addresses of files: with blanks between them, or as a list."""
    if isinstance(value, str):
        return value.split()
    return value if isinstance(value, list) else []
