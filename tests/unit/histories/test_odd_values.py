"""Exports in which any one value is another than the format has: nothing is raised, and the rest is read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from querymill_histories.formats import BY_NAME
from querymill_histories.rows import rows_of
from querymill_histories.session import ReadOptions, Session
from tests.unit.histories.test_foreign_chats import FILES, PARTS

ODD: Final[tuple[Any, ...]] = (
    None,
    0,
    -1,
    1e308,
    True,
    "",
    "x",
    [],
    {},
    [None],
    [[]],
    {"a": None},
    [{"id": []}],
    "9" * 50,
)
SAMPLES: Final = FILES | {("openai", "parts.json"): PARTS}


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


def said_in(name: str, path: Path) -> int:
    sessions = [read for read in BY_NAME[name].read([path], ReadOptions()) if isinstance(read, Session)]
    return sum(len(row["messages"]) for session in sessions for row in rows_of(session, name, "full"))


@pytest.mark.parametrize(("name", "file"), SAMPLES)
def test_one_odd_value_breaks_nothing(tmp_path: Path, name: str, file: str) -> None:
    whole, path = SAMPLES[name, file], tmp_path / file
    twice = [*whole, *json.loads(json.dumps(whole))] if isinstance(whole, list) else whole
    for place in places_in(whole):
        for odd in ODD:
            path.write_text(json.dumps(with_odd(twice, place, odd) if place else odd))
            read = said_in(name, path)
            if twice is not whole and place:
                assert read > 0, f"{place} as {odd!r} cost another record"


def test_one_odd_event_costs_no_other_of_a_room(tmp_path: Path) -> None:
    whole = FILES["matrix", "export.json"]
    for number, event in enumerate(whole["messages"]):
        for place in places_in(event):
            for odd in ODD:
                path = tmp_path / "export.json"
                path.write_text(json.dumps(with_odd(whole, ("messages", number, *place), odd)))
                assert said_in("matrix", path) >= 3, (number, place, odd)
