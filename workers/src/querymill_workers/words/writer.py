"""Write entries of a text index as runs, within a transaction of the caller."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from psycopg import Connection
from psycopg.rows import TupleRow

from querymill_shared.values import value
from querymill_workers.postgres.queries import statements
from querymill_workers.text.words import WORDS_VERSION
from querymill_workers.words.runs import PLACE_BITS, IndexEntry, Run, packed, place_of, written

_SQL: Final = statements("querymill_workers.words", "writer.sql")

#: The columns of new runs, and those of the ranges of their groups.
_RUN_COLUMNS: Final = ("runs", "ids", "groups", "entries", "words", "tfs", "postings")
_RANGE_COLUMNS: Final = ("names", "firsts", "lasts")


@value
class CountedUnit:
    """An entry to be written, with the counts of its terms."""

    id: str
    group: str
    counts: Mapping[str, int]


def own_index(connection: Connection[TupleRow], collection: str, space: str, *, version: int = WORDS_VERSION) -> int:
    """Return the number of the index of a tokeniser version, and create the index if there is none."""
    place = {"collection": collection, "space": space, "version": version}
    while (found := connection.execute(_SQL["word_space"], place).fetchone()) is None:
        connection.execute(_SQL["add_word_space"], place)
    return int(found[0])


def put_entries(
    connection: Connection[TupleRow], collection: str, space: str, units: Iterable[CountedUnit],
    *, new: bool = False, version: int = WORDS_VERSION,
) -> int:  # fmt: skip
    """Add or replace entries of an index, or with ``new`` only add. Return how many terms were written."""
    ordered = sorted(units, key=lambda unit: (unit.group, unit.id))
    parts = packed([len(unit.counts) for unit in ordered])
    runs = connection.execute(_SQL["word_run_numbers"], {"runs": len(parts)})
    index = own_index(connection, collection, space, version=version)
    numbered = [
        (run << PLACE_BITS | at, ordered[place])
        for (run,), part in zip(runs.fetchall(), parts, strict=True)
        for at, place in enumerate(part)
    ]
    values = {
        "number": index, "ids": [unit.id for _, unit in numbered], "numbers": [number for number, _ in numbered],
    }  # fmt: skip
    if new:
        added = {id_ for (id_,) in connection.execute(_SQL["add_word_entries"], values)}
        numbered = [(number, unit) for number, unit in numbered if unit.id in added]
    else:
        mark_gone(connection, index, [number for (number,) in connection.execute(_SQL["put_word_entries"], values)])
    _write(connection, index, numbered)
    return sum(len(unit.counts) for _, unit in numbered)


def drop_entries(connection: Connection[TupleRow], space: int, ids: Sequence[str]) -> None:
    """Drop entries of an index; unknown ids are skipped."""
    dropped = connection.execute(_SQL["drop_word_entries"], {"number": space, "ids": list(set(ids))})
    mark_gone(connection, space, [number for (number,) in dropped])


def counts_of(connection: Connection[TupleRow], space: int, ids: Sequence[str]) -> dict[str, Mapping[str, int]]:
    """Return the counts of the terms of those entries that are there. They are locked until the transaction ends."""
    held = connection.execute(_SQL["hold_word_entries"], {"number": space, "ids": list(ids)}).fetchall()
    id_of = {number: id_ for id_, number in held}
    values = {"number": space, "runs": list({number >> PLACE_BITS for number in id_of})}
    found = connection.execute(_SQL["word_runs"], values, binary=True).fetchall()
    return {id_of[entry.number]: entry.counts for run in found for entry in Run(*run).chosen(list(id_of))}


def mark_gone(connection: Connection[TupleRow], space: int, numbers: Sequence[int]) -> None:
    """Add runs that say which entries are gone, with their terms."""
    if not numbers:
        return
    values = {"number": space, "runs": list({number >> PLACE_BITS for number in numbers})}
    found = connection.execute(_SQL["word_runs"], values, binary=True).fetchall()
    entries = [entry for row in found for entry in Run(*row).chosen(numbers)]
    parts = packed([len(entry.counts) for entry in entries])
    runs = [written([entries[place] for place in part], sign=-1) for part in parts]
    columns = {name: [getattr(run, name) for run in runs] for name in ("entries", "words", "tfs")}
    connection.execute(_SQL["drop_word_runs"], {"number": space, **columns})


def _write(connection: Connection[TupleRow], space: int, numbered: Sequence[tuple[int, CountedUnit]]) -> None:
    """Add runs of new entries, which are in the order of their numbers."""
    rows: list[tuple[Any, ...]] = []
    ranges: list[tuple[str, int, int]] = []
    for run_number, members in groupby(numbered, key=lambda unit: unit[0] >> PLACE_BITS):
        part = list(members)
        run = written([IndexEntry(number, unit.counts) for number, unit in part])
        ids = {place_of(number): unit.id for number, unit in part}
        by_place = json.dumps([ids.get(place) for place in range(max(ids) + 1)])
        groups = [
            (name, *bounds([number for number, _ in same]))
            for name, same in groupby(part, key=lambda unit: unit[1].group)
        ]
        rows.append((run_number, by_place, json.dumps(groups), run.entries, run.words, run.tfs, run.postings))
        ranges += groups
    if rows:
        columns = _columns(_RUN_COLUMNS, rows) | _columns(_RANGE_COLUMNS, ranges)
        connection.execute(_SQL["put_word_runs"], {"number": space, **columns})


def bounds(numbers: Sequence[int]) -> tuple[int, int]:
    """Return the first and the last of numbers in order."""
    return numbers[0], numbers[-1]


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Turn rows into one array per column, as ``unnest`` expects them."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
