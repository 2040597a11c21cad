"""Text indexes in PostgreSQL. A write adds runs, which are folded into blocks of postings in the background.

Writers wait for each other only where they write the same entry: each locks its entries in the order of their ids, and
adds rows. What they add is found at once: a search reads the runs that are not folded yet (the tail) beside the blocks.
All statistics are counted from both, so they are exact for the snapshot of the search.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Final, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow
from typing_extensions import override

from querymill_workers.jobs.faults import Refused
from querymill_workers.postgres.connection import Pool, across, borrowed, unhurried, within
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.text import bm25
from querymill_workers.text.words import WORDS_VERSION, words
from querymill_workers.words import folder, scores
from querymill_workers.words.asked import NOTHING, Beside, asked_terms
from querymill_workers.words.parts import MARK, part_of
from querymill_workers.words.ports import Space, WordHit, Words, WordUnit, stale_index
from querymill_workers.words.runs import Run
from querymill_workers.words.scores import PostingBlock, Snapshot
from querymill_workers.words.upkeep import Upkeep
from querymill_workers.words.writer import CountedUnit, counts_of, drop_entries, own_index, put_entries

_SQL: Final = statements("querymill_workers.words", "postgres.sql")

#: Comes right after every id of a part.
_END: Final = MARK[:-1] + chr(ord(MARK[-1]) + 1)
#: A search is repeated so often at most, if what it found was replaced before its ids were read.
SEARCH_ATTEMPTS: Final = 5
#: How many letters longer or shorter than a word a misspelling of it may be.
ALIKE_LETTERS: Final = 2
#: For how long the indexes that are due are folded, in seconds; a single transaction may take longer.
TIDY_S: Final = 1.0
#: The server ends a transaction that folds after this long, in milliseconds.
FOLD_LIMIT_MS: Final = 60_000


class PostgresWords(Words):
    """`Words` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._upkeep = Upkeep(self.tidy)
        #: Terms that this process has written since it last asked for upkeep.
        self._written = 0

    @override
    def put(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        latest = {unit.id: _counted(unit) for unit in units}
        if not latest:
            return
        with within(self._pool, collection) as connection:
            written = put_entries(connection, collection, space, latest.values())
        self._note(written)

    def extend(self, collection: str, space: Space, units: Sequence[WordUnit]) -> Set[str]:
        """See `Words.extend`. An entry is written again from its counts; only what is new is read."""
        with within(self._pool, collection) as connection:
            number = own_index(connection, collection, space)
            known = counts_of(connection, number, [unit.id for unit in units])
            longer = [
                CountedUnit(unit.id, unit.group, Counter(known[unit.id]) + Counter(_counted(unit).counts))
                for unit in units
                if unit.id in known
            ]
            written = put_entries(connection, collection, space, longer) if longer else 0
        self._note(written)
        return known.keys()

    @override
    def refill(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        with within(self._pool, collection) as connection:
            number = own_index(connection, collection, space)
            values = {"number": number, "ids": [unit.id for unit in units]}
            known = {id_ for (id_,) in connection.execute(_SQL["known_word_entries"], values)}
            latest = {unit.id: unit for unit in units if unit.id not in known}
            if latest:
                put_entries(connection, collection, space, map(_counted, latest.values()), new=True)

    @override
    def publish(self, collection: str, space: Space) -> None:
        place = {"collection": collection, "space": space, "except": WORDS_VERSION}
        with within(self._pool, collection) as connection:
            unhurried(connection)
            number = own_index(connection, collection, space)
            connection.execute(_SQL["publish_word_space"], {"number": number})
            _clear(connection, place)

    @override
    def drop(self, collection: str, space: Space, ids: Sequence[str]) -> None:
        with within(self._pool, collection) as connection:
            place = {"collection": collection, "space": space}
            for (number,) in connection.execute(_SQL["word_versions"], place).fetchall():
                drop_entries(connection, number, ids)
        self._upkeep.wake()

    @override
    def trim(self, collection: str, space: Space, documents: Mapping[str, int]) -> None:
        with within(self._pool, collection) as connection:
            place = {"collection": collection, "space": space}
            for (number,) in connection.execute(_SQL["word_versions"], place).fetchall():
                values = {"number": number, "documents": list(documents), "mark": MARK, "end": _END}
                found = [id_ for (id_,) in connection.execute(_SQL["word_parts"], values).fetchall()]
                parts = ((id_, *part_of(id_)) for id_ in found)
                surplus = [id_ for id_, document, part in parts if part >= documents.get(document, part + 1)]
                if surplus:
                    drop_entries(connection, number, surplus)
                    self._upkeep.wake()

    @override
    def drop_all(self, collection: str, space: Space) -> None:
        with within(self._pool, collection) as connection:
            unhurried(connection)
            _clear(connection, {"collection": collection, "space": space, "except": None})

    @override
    def search(
        self,
        collection: str,
        space: Space,
        text: str,
        *,
        limit: int,
        groups: Sequence[str] | None = None,
        tuning: bm25.Tuning = bm25.PLAIN,
        also: Sequence[str] = (),
        beside: Beside = NOTHING,
    ) -> list[WordHit]:
        asked = asked_terms(text, beside, also)
        if not any(asked.values()) or limit < 1:
            return []
        for _ in range(SEARCH_ATTEMPTS):
            found = self._read(collection, space, list(asked), groups)
            if found is None:
                return []
            number, snapshot = found
            matches = scores.best(snapshot, asked, limit=limit, tuning=tuning)
            ids = self._ids(collection, number, [match.number for match in matches])
            if len(ids) == len(matches):
                break
        hits = [
            WordHit(ids[match.number], match.scored.score, match.scored) for match in matches if match.number in ids
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]

    @override
    def near(self, collection: str, space: Space, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
        values = {"collection": collection, "space": space, "version": WORDS_VERSION, "terms": list(terms)}
        rows = self._fetch(collection, _SQL["word_near"], values)
        if not rows:
            return {term: [] for term in terms}
        names, counts, *tail = rows[0]
        known = _known(dict(zip(names or (), counts or (), strict=True)), Run(*tail))
        return {
            term: sorted(
                other for other in known if other[0] == term[0] and abs(len(other) - len(term)) <= ALIKE_LETTERS
            )
            for term in terms
            if term not in known
        }

    @override
    def count(self, collection: str, space: Space) -> int:
        values = {"collection": collection, "space": space, "version": WORDS_VERSION}
        rows = self._fetch(collection, _SQL["count_word_entries"], values)
        return sum(folded + Run(tail, b"", b"").units for folded, tail in rows)

    @override
    def stale(self, collection: str, space: Space) -> bool:
        with within(self._pool, collection) as connection:
            return _is_stale(connection, collection, space)

    @override
    def previous_versions(self, collection: str, space: Space) -> Sequence[int]:
        place = {"collection": collection, "space": space, "version": WORDS_VERSION}
        return [version for (version,) in self._fetch(collection, _SQL["word_previous_versions"], place)]

    @override
    def tidy(self) -> bool:
        until = time.monotonic() + TIDY_S
        with across(self._pool) as connection:
            due = folder.due(connection)
        for collection, space in due:
            while self.fold(collection, space):
                if time.monotonic() >= until:
                    return True
        return len(due) == folder.LISTED

    def fold(self, collection: str, space: Space) -> bool:
        """Fold a part of the tail of an index, in one transaction. Return whether more is left that may be folded."""
        with within(self._pool, collection) as connection:
            unhurried(connection, limit_ms=FOLD_LIMIT_MS)
            versions = connection.execute(_SQL["word_versions"], {"collection": collection, "space": space}).fetchall()
            more = [folder.fold_some(connection, number) for (number,) in versions]
        return any(more)

    def _note(self, terms: int) -> None:
        """Count terms that were written, and ask for upkeep once there are many."""
        self._written += terms
        if self._written >= folder.LEAST_COST:
            self._written = 0
            self._upkeep.wake()

    def _read(
        self, collection: str, space: Space, terms: Sequence[str], groups: Sequence[str] | None
    ) -> tuple[int, Snapshot] | None:
        """Read what the index holds about terms, with its number. Return None if there is no index.

        Raises:
            Refused: The index is stale.
        """
        place = {"collection": collection, "space": space, "version": WORDS_VERSION}
        values = {**place, "terms": list(terms), "groups": None if groups is None else list(groups)}
        rows = self._fetch(collection, _SQL["word_snapshot"], values)
        if not any(kind == "number" for kind, *_ in rows):
            with within(self._pool, collection) as connection:
                if _is_stale(connection, collection, space):
                    raise Refused(stale_index(collection, space), code="pending")
            rows = self._fetch(collection, _SQL["word_snapshot"], values)
        read = {kind: (count, part) for kind, _, count, part in rows if kind != "block"}
        if "number" not in read:
            return None
        tail = Run(read["entries"][1], read["words"][1], read["tfs"][1])
        if folder.is_long(tail, runs=read["entries"][0], folded=read["folded"][0]):
            self._upkeep.wake()
        blocks = [(term, count, part) for kind, term, count, part in rows if kind == "block"]
        ranges = read.get("ranges", (0, None))[1]
        return read["number"][0], Snapshot(read["units"][0], read["length"][0], tail, _blocks(blocks), ranges)

    def _ids(self, collection: str, space: int, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of entries by number. Entries that have been dropped or replaced since may be missing."""
        if not numbers:
            return {}
        rows = self._fetch(collection, _SQL["word_ids"], {"number": space, "numbers": list(numbers)})
        return {number: id_ for number, id_ in rows if id_ is not None}

    def _fetch(self, collection: str, statement: LiteralString, values: Mapping[str, object]) -> list[TupleRow]:
        """Return the rows of one statement, which sees one snapshot, in one round trip."""
        with borrowed(self._pool) as connection:
            with connection.pipeline():
                if self._pool.own.connection is None:  # until the transaction ends, which has no other statement
                    connection.keep_settings()
                    connection.execute(_SQL["plan_once"])
                connection.execute(SESSION["as_reader"], {"collection": collection})
                cursor = connection.execute(statement, values, binary=True)
            return cursor.fetchall()


def _is_stale(connection: Connection[TupleRow], collection: str, space: Space) -> bool:
    place = {"collection": collection, "space": space, "version": WORDS_VERSION}
    row = connection.execute(_SQL["word_stale"], place).fetchone()
    return row is not None and bool(row[0])


def _clear(connection: Connection[TupleRow], place: Mapping[str, object]) -> None:
    for (number,) in connection.execute(_SQL["word_versions_alone"], place).fetchall():
        for kind in ("tail", "blocks", "ranges", "runs", "entries", "space"):
            connection.execute(_SQL[f"clear_word_{kind}"], {"number": number})


def _blocks(rows: Sequence[tuple[str, int, bytes | None]]) -> dict[str, PostingBlock]:
    """Put together the blocks of each term."""
    found: dict[str, tuple[int, list[bytes]]] = {}
    for term, n, postings in rows:
        known, parts = found.get(term, (0, []))
        found[term] = known + n, parts if postings is None else [*parts, postings]
    return {term: PostingBlock(n, b"".join(parts)) for term, (n, parts) in found.items()}


def _counted(unit: WordUnit) -> CountedUnit:
    return CountedUnit(unit.id, unit.group, Counter(words(unit.text) if unit.counts is None else unit.counts))


def _known(folded: Mapping[str, int], tail: Run) -> set[str]:
    """Return the terms that an entry has."""
    known = Counter(folded)
    signs = tail.signs.repeat(tail.rows["terms"]).tolist()
    for term, sign in zip(tail.spelled(), signs, strict=True):
        known[term] += sign
    return {term for term, df in known.items() if df > 0}
