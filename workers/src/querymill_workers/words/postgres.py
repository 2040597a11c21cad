"""Text indexes in PostgreSQL: one row per (term, entry), read through the primary key alone.

Writers run concurrently. Each locks its entries in the order of their ids, writes their postings, and then updates
the statistics. Only one writer at a time updates the statistics of an index, because the update begins by changing the
index's row. All transactions take their locks in the same order (index shared, groups, entries, statistics), so they
cannot deadlock.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from psycopg import Cursor, IsolationLevel
from psycopg.rows import TupleRow

from querymill_workers.jobs.faults import Refused
from querymill_workers.postgres.connection import Pool, borrowed, lent
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.text import bm25
from querymill_workers.text.words import WORDS_VERSION, words
from querymill_workers.words.ports import Space, WordHit, WordUnit, stale_index

_SQL: Final = statements("querymill_workers.words", "postgres.sql")

#: A query with up to this many postings is read whole, without checking whether fewer would do.
CHEAP_POSTINGS = 2_000
#: Looking up one posting takes as long as reading this many in a row.
LOOKUP_COST = 2
#: An upper bound for the difference between sums of the same numbers in another order.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _LockedUnit:
    """An entry that this transaction has locked. ``length`` is None if the entry is new."""

    number: int
    length: int | None


@dataclass(frozen=True, slots=True)
class _CountedQuery:
    """A query with its statistics, from one snapshot. ``weights`` bound what each term adds, the largest first."""

    number: int
    statistics: bm25.Statistics
    terms: tuple[bm25.QueryTerm, ...]
    weights: tuple[float, ...]
    groups: Sequence[int] | None

    def values(self, leading: int, limit: int) -> dict[str, object]:
        """Return the parameters of the statements that score by the first ``leading`` terms."""
        slope = bm25.K1 * bm25.B
        names = [term.term for term in self.terms]
        return {
            "number": self.number,
            "groups": self.groups,
            "limit": limit,
            "terms": names,
            "leading": names[:leading],
            "weights": list(self.weights[:leading]),
            "base": bm25.K1 - slope,
            "slope": slope / self.statistics.average,
            "other": names[leading:],
            "other_weights": list(self.weights[leading:]),
            "slack": sum(self.weights[leading:]) + ROUNDING,
            "rounding": ROUNDING,
        }

    def cheap(self) -> int:
        """Return how many leading terms have few postings in total; at least one."""
        postings = accumulate(term.df for term in self.terms)
        return max(sum(1 for total in postings if total <= CHEAP_POSTINGS), 1)

    def enough(self, bar: float) -> int:
        """Return how many leading terms to read whole, so that no entry without any of them can score ``bar``.

        A term adds less than its weight, so the remaining terms add less than the sum of their weights. If reading
        all terms whole is cheaper than looking the remaining ones up for every entry found, return all.
        """
        others = sum(1 for left in accumulate(reversed(self.weights)) if left + ROUNDING < bar)
        postings = [term.df for term in self.terms]
        leading = len(postings) - others
        looked_up = sum(postings[:leading]) * others * LOOKUP_COST
        return leading if looked_up < sum(postings[leading:]) else len(postings)


class PostgresWords:
    """`Words` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def put(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        """See `Words.put`."""
        self._put(collection, space, {unit.id: unit for unit in units})

    def refill(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        """See `Words.refill`."""
        with self._change() as cursor:
            number = _own_space(cursor, collection, space)
            values = {"number": number, "ids": [unit.id for unit in units]}
            known = {id_ for (id_,) in cursor.execute(_SQL["known_word_units"], values)}
        self._put(collection, space, {unit.id: unit for unit in units if unit.id not in known}, new=True)

    def publish(self, collection: str, space: Space) -> None:
        """See `Words.publish`."""
        place = {"collection": collection, "space": space, "except": WORDS_VERSION}
        with self._change() as cursor:
            cursor.execute(SESSION["unhurried"])
            number = _own_space(cursor, collection, space)
            cursor.execute(_SQL["publish_word_space"], {"number": number})
            _clear(cursor, place)

    def _put(self, collection: str, space: Space, latest: Mapping[str, WordUnit], *, new: bool = False) -> None:
        """Write entries; with ``new`` only those that are not stored yet."""
        if not latest:
            return
        counts = {unit.id: Counter(words(unit.text)) for unit in latest.values()}
        with self._change() as cursor:
            number = _own_space(cursor, collection, space)
            groups = _number_groups(cursor, number, {unit.group for unit in latest.values()})
            placed = {unit.id: groups[unit.group] for unit in latest.values()}
            locked = _lock(cursor, number, placed)
            if new:
                locked = {id_: unit for id_, unit in locked.items() if unit.length is None}
            replaced = [unit for unit in locked.values() if unit.length is not None]
            lost = _take_postings(cursor, replaced)
            _write(cursor, number, {id_: (unit.number, placed[id_], counts[id_]) for id_, unit in locked.items()})
            gained = Counter(term for id_ in locked for term in counts[id_])
            length = sum(counts[id_].total() for id_ in locked) - sum(unit.length or 0 for unit in replaced)
            _add_counts(cursor, number, units=len(locked) - len(replaced), length=length, gained=gained, lost=lost)

    def drop(self, collection: str, space: Space, ids: Sequence[str]) -> None:
        """See `Words.drop`."""
        with self._change() as cursor:
            place = {"collection": collection, "space": space}
            for (number,) in cursor.execute(_SQL["word_versions"], place).fetchall():
                _drop(cursor, number, sorted(set(ids)))

    def clear(self, collection: str, space: Space) -> None:
        """See `Words.clear`."""
        with self._change() as cursor:
            cursor.execute(SESSION["unhurried"])
            _clear(cursor, {"collection": collection, "space": space, "except": None})

    def search(
        self, collection: str, space: Space, text: str, *, limit: int, groups: Sequence[str] | None = None
    ) -> list[WordHit]:
        """See `Words.search`."""
        asked = Counter(words(text))
        if not asked or limit < 1:
            return []
        with self._snapshot() as cursor:
            counted = _count_query(cursor, collection, space, asked, groups)
            rows = [] if counted is None else _fetch_best(cursor, counted, limit)
        hits = [_hit(counted, *row) for row in rows if counted is not None]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]

    def near(self, collection: str, space: Space, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """See `Words.near`."""
        values = {"collection": collection, "space": space, "version": WORDS_VERSION, "terms": list(terms)}
        with self._change() as cursor:
            return dict(cursor.execute(_SQL["word_near"], values).fetchall())

    def stale(self, collection: str, space: Space) -> bool:
        """See `Words.stale`."""
        with self._change() as cursor:
            return _is_stale(cursor, collection, space)

    @contextmanager
    def _change(self) -> Iterator[Cursor[TupleRow]]:
        """Lend a cursor within one transaction."""
        with lent(self._pool) as connection, connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def _snapshot(self) -> Iterator[Cursor[TupleRow]]:
        """Lend a cursor whose statements all see one snapshot, so that statistics and postings agree."""
        with borrowed(self._pool) as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    yield cursor
            finally:
                connection.isolation_level = None


def _own_space(cursor: Cursor[TupleRow], collection: str, space: Space) -> int:
    """Return the number of the index of this tokeniser version, and create the index if there is none."""
    place = {"collection": collection, "space": space, "version": WORDS_VERSION}
    while (found := cursor.execute(_SQL["word_space"], place).fetchone()) is None:
        cursor.execute(_SQL["add_word_space"], place)
    return int(found[0])


def _is_stale(cursor: Cursor[TupleRow], collection: str, space: Space) -> bool:
    place = {"collection": collection, "space": space, "version": WORDS_VERSION}
    row = cursor.execute(_SQL["word_stale"], place).fetchone()
    return row is not None and bool(row[0])


def _clear(cursor: Cursor[TupleRow], place: Mapping[str, object]) -> None:
    for (number,) in cursor.execute(_SQL["word_versions_alone"], place).fetchall():
        for kind in ("postings", "units", "frequencies", "groups", "space"):
            cursor.execute(_SQL[f"clear_word_{kind}"], {"number": number})


def _drop(cursor: Cursor[TupleRow], number: int, ids: Sequence[str]) -> None:
    locked = [_LockedUnit(*row) for row in cursor.execute(_SQL["word_units"], {"number": number, "ids": ids})]
    lost = _take_postings(cursor, locked)
    cursor.execute(_SQL["drop_word_units"], {"units": [unit.number for unit in locked]})
    length = sum(unit.length or 0 for unit in locked)
    _add_counts(cursor, number, units=-len(locked), length=-length, gained=Counter(), lost=lost)


def _number_groups(cursor: Cursor[TupleRow], number: int, names: set[str]) -> dict[str, int]:
    values = {"number": number, "groups": list(names)}
    numbers: dict[str, int] = dict(cursor.execute(_SQL["word_groups"], values).fetchall())
    if len(numbers) < len(names):
        cursor.execute(_SQL["add_word_groups"], values)
        numbers = dict(cursor.execute(_SQL["word_groups"], values).fetchall())
    return numbers


def _lock(cursor: Cursor[TupleRow], number: int, placed: Mapping[str, int]) -> dict[str, _LockedUnit]:
    values = {"number": number, "ids": list(placed), "groups": list(placed.values())}
    return {id_: _LockedUnit(unit, length) for id_, unit, length in cursor.execute(_SQL["hold_word_units"], values)}


def _take_postings(cursor: Cursor[TupleRow], locked: Sequence[_LockedUnit]) -> Counter[str]:
    if not locked:
        return Counter()
    taken = cursor.execute(_SQL["take_word_postings"], {"units": [unit.number for unit in locked]})
    return Counter(term for (term,) in taken)


def _write(cursor: Cursor[TupleRow], number: int, units: Mapping[str, tuple[int, int, Counter[str]]]) -> None:
    described = [(unit, group, counts.total()) for unit, group, counts in units.values()]
    cursor.execute(_SQL["describe_word_units"], _columns(("units", "groups", "lengths"), described))
    postings = [
        (term, group, unit, tf, counts.total()) for unit, group, counts in units.values() for term, tf in counts.items()
    ]
    columns = _columns(("terms", "groups", "units", "tfs", "lengths"), postings)
    cursor.execute(_SQL["add_word_postings"], {"number": number, **columns})


def _columns(names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> dict[str, list[object]]:
    """Turn rows into one array per column, as ``unnest`` expects them."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _add_counts(
    cursor: Cursor[TupleRow], number: int, *, units: int, length: int, gained: Counter[str], lost: Counter[str]
) -> None:
    cursor.execute(_SQL["count_word_units"], {"number": number, "units": units, "length": length})
    gained.subtract(lost)
    changes = {term: change for term, change in gained.items() if change}
    if changes:
        values = {"number": number, "terms": list(changes), "changes": list(changes.values())}
        cursor.execute(_SQL["count_word_terms"], values)
    fewer = [term for term, change in changes.items() if change < 0]
    if fewer:
        cursor.execute(_SQL["forget_word_terms"], {"number": number, "terms": fewer})


def _count_query(
    cursor: Cursor[TupleRow], collection: str, space: Space, asked: Counter[str], groups: Sequence[str] | None
) -> _CountedQuery | None:
    """Read the statistics for a query, or return None if nothing can be found.

    Raises:
        Refused: The index is stale.
    """
    place = {"collection": collection, "space": space, "version": WORDS_VERSION}
    filters = None if groups is None else list(groups)
    row = cursor.execute(_SQL["word_statistics"], {**place, "terms": list(asked), "groups": filters}).fetchone()
    if row is None:
        if _is_stale(cursor, collection, space):
            raise Refused(stale_index(collection, space))
        return None
    number, units, length, known, dfs, group_numbers = row
    if not known or (groups is not None and not group_numbers):
        return None
    terms = [bm25.QueryTerm(term, asked[term], df) for term, df in zip(known, dfs, strict=True)]
    weights = {term: term.times * bm25.idf(units, term.df) for term in terms}
    terms.sort(key=lambda term: (-weights[term], term.term))
    in_order = tuple(weights[term] for term in terms)
    numbers = None if groups is None else group_numbers
    return _CountedQuery(number, bm25.Statistics(units, length), tuple(terms), in_order, numbers)


def _fetch_best(cursor: Cursor[TupleRow], counted: _CountedQuery, limit: int) -> list[TupleRow]:
    """Fetch the best entries and any that may tie with them. The result is exact without reading frequent terms whole.

    This is MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995). Once entries with
    rare terms have set a score that all frequent terms together cannot reach, entries with only frequent terms need
    not be read.
    """
    leading = counted.cheap()
    if leading < len(counted.terms):
        bar = cursor.execute(_SQL["word_bar"], counted.values(leading, limit)).fetchone()
        leading = len(counted.terms) if bar is None else max(leading, counted.enough(bar[0]))
    return cursor.execute(_SQL["word_best"], counted.values(leading, limit)).fetchall()


def _hit(counted: _CountedQuery, id_: str, length: int, terms: list[str], tfs: list[int]) -> WordHit:
    counts = dict(zip(terms, tfs, strict=True))
    scored = bm25.score(counts, length, terms=counted.terms, statistics=counted.statistics)
    return WordHit(id_, scored.score, scored)
