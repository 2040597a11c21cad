"""Nested values, as JSON has them, as text: a table of a list of like objects, else a line for each value."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from querymill_reading.rules.sections import SectionPart
from querymill_reading.rules.written_tables import Table

#: Rows of a table on one page, and names of its columns.
ROWS_A_PAGE: Final = 100
MAX_COLUMNS: Final = 200
#: Levels that have headings, and nesting that is followed.
MAX_HEADINGS: Final = 3
MAX_DEPTH: Final = 100


def parts_of_value(value: Any, path: Sequence[str] = ()) -> Iterator[SectionPart]:
    """Yield the parts of a value: a heading for what has parts of its own, a line "name: value" for what has none."""
    if len(path) > MAX_DEPTH:
        raise RecursionError
    lines = list(_lines(value))
    if lines:
        yield SectionPart("\n".join(lines))
    for name, item in _items(value):
        if not _is_plain(item):
            level = len(path) + 1
            yield SectionPart(name, level if level <= MAX_HEADINGS else 0)
            if (tables := list(_tables(item))) or not item:
                yield from map(SectionPart, tables)
            else:
                yield from parts_of_value(item, (*path, name))


def of_root(value: Any) -> Iterator[SectionPart]:
    """Yield the parts of a whole file."""
    tables = list(_tables(value))
    yield from map(SectionPart, tables) if tables else parts_of_value(value)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            yield from ((str(name), item) for name, item in value.items())
        case list():
            yield from ((str(number), item) for number, item in enumerate(value, 1))
        case _:
            return


def _lines(value: Any) -> Iterator[str]:
    if _is_plain(value):
        yield _shown(value)
        return
    for name, item in _items(value):
        if _is_plain(item):
            yield f"{name}: {_shown(item)}" if isinstance(value, dict) else f"• {_shown(item)}"


def _is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list) or (
        isinstance(value, list) and all(not isinstance(item, dict | list) for item in value) and _is_short(value)
    )


def _is_short(values: Sequence[Any]) -> bool:
    return len(values) <= 20 and sum(len(str(value)) for value in values) < 200


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(map(_shown, value))
        case _:
            return str(value)


def _tables(value: Any) -> Iterator[str]:
    """Yield the tables of a list of objects that have plain values and mostly the same names; nothing for others."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(row, Mapping) for row in value):
        return
    names = list(dict.fromkeys(str(name) for row in value for name in row))
    filled = sum(len(row) for row in value)
    is_even = 0 < len(names) <= MAX_COLUMNS and 2 * filled >= len(names) * len(value)
    if not is_even or not all(_is_plain(item) for row in value for item in row.values()):
        return
    rows = [tuple(_shown(row.get(name)) for name in names) for row in value]
    for start in range(0, len(rows), ROWS_A_PAGE):
        yield Table(tuple(names), tuple(rows[start : start + ROWS_A_PAGE])).markdown()
