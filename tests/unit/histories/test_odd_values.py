"""Exports in which any one value is another, that are cut, or in another dress: nothing is raised, the rest is read."""

import gzip
import json
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

import pytest

from querymill_histories.finding import find, read_sessions
from querymill_histories.formats import BY_NAME, FORMATS
from querymill_histories.rows import rows_of
from querymill_histories.session import ReadOptions, Session
from tests.fixtures.foreign_histories import LINES, TEXTS, WHOLE
from tests.unit.histories.test_foreign_chats import FILES, PARTS

ODD: Final[tuple[Any, ...]] = (None, -1, float("nan"), True, "\ud800", [], [None], {"a": None}, "9" * 50)
#: By day every fifth: each value somewhere, as there are nine, and nearly each place.
EVERY: Final = pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.nightly)], ids=["fifth", "all"])
#: What may stand where an object does.
NO_OBJECTS: Final[tuple[Any, ...]] = (7, None, [[]])
WHOLES: Final = FILES | WHOLE | {("openai", "parts.json"): PARTS}
ALL: Final = {
    **{key: json.dumps(value) for key, value in WHOLES.items()},
    **{key: "".join(f"{json.dumps(row)}\n" for row in rows) for key, rows in LINES.items()},
    **TEXTS,
}


def places_in(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the values of a sample stand."""
    yield above
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from places_in(value[key], (*above, key))


def with_odd(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """Return a sample in which one value is another."""
    if not place:
        return odd
    copy = json.loads(json.dumps(value))
    held = copy
    for key in place[:-1]:
        held = held[key]
    held[place[-1]] = odd
    return copy


def without(value: Any, place: tuple[Any, ...]) -> Any:
    """Return a sample that lacks one value."""
    copy = json.loads(json.dumps(value))
    held = copy
    for key in place[:-1]:
        held = held[key]
    del held[place[-1]]
    return copy


def told_of(name: str, path: Path) -> tuple[int, int]:
    """Return how many messages are read of a file, and how many things are said or counted of it."""
    read = list(BY_NAME[name].read([path], ReadOptions()))
    sessions = [one for one in read if isinstance(one, Session)]
    messages = sum(len(row["messages"]) for session in sessions for row in rows_of(session, name, "full"))
    counted = sum(session.left_out.total() for session in sessions)
    return messages, messages + counted + len(read) - len(sessions)


def test_every_format_has_a_sample_and_a_sample_is_of_its_format_only(tmp_path: Path) -> None:
    assert {name for name, _ in ALL} == {known.name for known in FORMATS}
    for (name, file), text in ALL.items():
        path = tmp_path / name / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        assert list(find([path]).files) == [name], file


@EVERY
@pytest.mark.parametrize(("name", "file"), WHOLES)
def test_one_odd_value_breaks_nothing(tmp_path: Path, name: str, file: str, every: int) -> None:
    whole, path = WHOLES[name, file], tmp_path / file
    twice = [*whole, *json.loads(json.dumps(whole))] if isinstance(whole, list) else whole
    for place, odd in islice(product(places_in(whole), ODD), 0, None, every):
        path.write_text(json.dumps(with_odd(twice, place, odd) if place else odd))
        read, _ = told_of(name, path)
        if twice is not whole and place:
            assert read > 0, f"{place} as {odd!r} cost another record"


def records_in(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield where the objects of lists stand."""
    for place in places_in(value):
        held = value
        for key in place:
            held = held[key]
        if place and isinstance(place[-1], int) and isinstance(held, dict):
            yield place


@pytest.mark.parametrize(("name", "file"), WHOLES)
def test_a_record_that_is_odd_is_counted_and_costs_no_other(tmp_path: Path, name: str, file: str) -> None:
    whole, path = WHOLES[name, file], tmp_path / file
    path.write_text(json.dumps(whole))
    _, all_told = told_of(name, path)
    for place in records_in(whole):
        path.write_text(json.dumps(without(whole, place)))
        read_without, told_without = told_of(name, path)
        for odd in NO_OBJECTS:
            path.write_text(json.dumps(with_odd(whole, place, odd)))
            read, told = told_of(name, path)
            assert read >= read_without, f"{place} as {odd!r} cost another record"
            if told_without < all_told:
                assert told > told_without, f"{place} as {odd!r} is passed over without a word"


@EVERY
@pytest.mark.parametrize(("name", "file"), LINES)
def test_an_odd_value_in_a_line_costs_no_other_line(tmp_path: Path, name: str, file: str, every: int) -> None:
    rows, path = LINES[name, file], tmp_path / file
    for number, row in enumerate(rows):
        others = [json.dumps(other) for at, other in enumerate(rows) if at != number]
        path.write_text("\n".join(others))
        least, _ = told_of(name, path)
        for place, odd in islice(product(filter(None, places_in(row)), ODD), 0, None, every):
            lines = [json.dumps(row) for row in rows]
            lines[number] = json.dumps(with_odd(row, place, odd))
            path.write_text("\n".join(lines))
            assert told_of(name, path)[0] >= least, f"{place} of line {number + 1} as {odd!r}"
        for odd_line in ("7", "null", "[]", '{"a": ', "x", "\0"):
            path.write_text("\n".join([*lines[:number], odd_line, *lines[number + 1 :]]))
            read, told = told_of(name, path)
            assert read >= least
            assert told > read or not odd_line.strip("\0"), odd_line


DRESSES: Final[dict[str, Callable[[str], bytes]]] = {
    "with a mark of UTF-8": lambda text: text.encode("utf-8-sig"),
    "in UTF-16": lambda text: text.encode("utf-16"),
    "in UTF-16, big end first": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "in UTF-32": lambda text: text.encode("utf-32"),
    "with line ends of Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "compressed": lambda text: gzip.compress(text.encode()),
    "compressed, in UTF-16": lambda text: gzip.compress(text.encode("utf-16")),
}


def said_in(path: Path) -> list[tuple[str, str]]:
    found = [(name, read) for name, read in read_sessions(find([path])) if isinstance(read, Session)]
    rows = [row for name, session in found for row in rows_of(session, name, "summary")]
    return [(message["role"], message["text"]) for row in rows for message in row["messages"]]


@pytest.mark.parametrize("dress", DRESSES)
def test_a_file_in_another_dress_says_the_same(tmp_path: Path, dress: str) -> None:
    for (name, file), text in ALL.items():
        plain, dressed = tmp_path / "plain" / name / file, tmp_path / "dressed" / name / file
        if "compressed" in dress:
            dressed = dressed.with_name(f"{file}.gz")
        for path, octets in ((plain, text.encode()), (dressed, DRESSES[dress](text))):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(octets)
        assert said_in(dressed) == said_in(plain) != [], f"{name}: {file}"


@pytest.mark.parametrize(("name", "file"), ALL)
def test_a_file_that_is_cut_or_has_a_bad_byte_raises_nothing(tmp_path: Path, name: str, file: str) -> None:
    octets, path = ALL[name, file].encode(), tmp_path / file
    path.write_bytes(octets)
    before, _ = told_of(name, path)
    for tenth in range(1, 10):
        at = len(octets) * tenth // 10
        path.write_bytes(octets[:at])
        told_of(name, path)
        path.write_bytes(octets[:at] + b"\xff\xfe\xff" + octets[at:])
        read, told = told_of(name, path)
        assert told > 0 or not find([path]).files
        assert read < before or told >= before
