"""Fold the tail of a text index into its blocks, in PostgreSQL.

One worker at a time folds an index: it holds the index's row, which writers only share. A transaction folds a bounded
part. If the worker is killed, the part is folded later.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from querymill_workers.postgres.queries import statements
from querymill_workers.words.folding import (
    BLOCK_POSTINGS,
    FEW_POSTINGS,
    Folded,
    PostingBatch,
    fold,
    joined_batches,
    left,
)
from querymill_workers.words.runs import PLACE_BITS, Numbers, Run, place_of, without

_SQL: Final = statements("querymill_workers.words", "folding.sql")

#: A transaction folds so many postings, or one run if that has more.
FOLD_POSTINGS: Final = 200_000
#: A tail is folded when reading it costs as much as so many postings, and this share of what is folded (1 / 100).
LEAST_COST, SHARE = 20_000, 100
#: Reading one more run costs as much as so many postings.
RUN_COST: Final = 50
#: A tail is folded whatever its length after so many seconds; sooner if entries are gone, whose words must go too.
FOLD_AFTER_S, GONE_AFTER_S = 3_600, 2
#: So many indexes are listed at once.
LISTED: Final = 100


def due(connection: Connection[TupleRow]) -> list[tuple[str, str]]:
    """Return the collection and space of indexes that are to be folded. Asked across all collections."""
    values = {"least": LEAST_COST, "share": SHARE, "run": RUN_COST, "most": LISTED}
    values |= {"after": FOLD_AFTER_S, "gone_after": GONE_AFTER_S}
    return [(collection, space) for collection, space in connection.execute(_SQL["word_due"], values)]


def is_long(tail: Run, *, runs: int, folded: int) -> bool:
    """Return whether the tail of an index with so many folded postings is long."""
    return tail.postings + runs * RUN_COST >= max(LEAST_COST, folded // SHARE)


def fold_some(connection: Connection[TupleRow], number: int) -> bool:
    """Fold a part of an index's tail within the transaction. Return whether more is left that this worker may fold."""
    if connection.execute(_SQL["hold_word_space"], {"number": number}).fetchone() is None:
        return False
    rows = connection.execute(_SQL["word_tail"], {"number": number, "most": FOLD_POSTINGS}, binary=True).fetchall()
    if not rows:
        return False
    tail = Run(*(b"".join(row[column] for row in rows) for column in (1, 2, 3)))
    folded = fold(tail)
    added = dict(folded.added)
    _take_out(connection, number, folded, added)
    _add(connection, number, added)
    _blank(connection, number, folded.gone)
    connection.execute(_SQL["shorten_word_tail"], {"number": number, "runs": [row[0] for row in rows]})
    connection.execute(_SQL["drop_word_runs_of"], {"number": number, "runs": [row[0] for row in rows if row[4]]})
    totals = {"units": folded.units, "length": folded.length, "postings": folded.postings}
    connection.execute(_SQL["count_folded_words"], {"number": number, **totals})
    return not rows[-1][5]


def _take_out(connection: Connection[TupleRow], number: int, folded: Folded, added: dict[str, PostingBatch]) -> None:
    """Take the postings of entries that are gone out of the blocks. What is left of a small block is added again."""
    if not folded.leaving:
        return
    bounds = {"first": int(folded.gone.min()), "last": int(folded.gone.max())}
    values = {"number": number, "terms": list(folded.leaving), **bounds}
    kept: list[tuple[str, int, PostingBatch]] = []
    dropped: list[tuple[str, int]] = []
    for term, block, postings in connection.execute(_SQL["word_blocks"], values, binary=True).fetchall():
        batch = left(postings, folded.leaving[term])
        if batch is not None and (block == 0 or batch.n >= FEW_POSTINGS):
            kept.append((term, block, batch))
            continue
        dropped.append((term, block))
        if batch is not None:
            added[term] = joined_batches(batch, added.get(term))
    connection.execute(_SQL["drop_word_blocks"], {"number": number, **_columns(("terms", "blocks"), dropped)})
    placed = _columns(("terms", "blocks"), [(term, block) for term, block, _ in kept])
    described = _described([batch for _, _, batch in kept])
    connection.execute(_SQL["replace_word_blocks"], {"number": number, **placed, **described}, binary=True)


def _add(connection: Connection[TupleRow], number: int, added: Mapping[str, PostingBatch]) -> None:
    if not added:
        return
    values = {"number": number, "terms": list(added), "full": BLOCK_POSTINGS, **_described(list(added.values()))}
    full = [term for (term,) in connection.execute(_SQL["add_word_postings"], values)]
    if full:
        connection.execute(_SQL["number_word_blocks"], {"number": number, "terms": full})


def _blank(connection: Connection[TupleRow], number: int, gone: Numbers) -> None:
    """Leave nothing of the words, ids and groups of entries that are gone."""
    if not gone.size:
        return
    places: dict[int, set[int]] = {}
    for entry in gone.tolist():
        places.setdefault(entry >> PLACE_BITS, set()).add(place_of(entry))
    values = {"number": number, "runs": list(places)}
    empty: list[int] = []
    ranges: list[tuple[str, int]] = []
    for run, former, groups, *columns in connection.execute(_SQL["word_runs_whole"], values, binary=True).fetchall():
        ids = [None if place in places[run] else id_ for place, id_ in enumerate(former)]
        live = [any(id_ is not None for id_ in ids[place_of(first) : place_of(last) + 1]) for _, first, last in groups]
        ranges += [(name, first) for (name, first, _), lives in zip(groups, live, strict=True) if not lives]
        if not any(live):
            empty.append(run)
            continue
        kept = without(Run(*columns), gone.tolist())
        described = {"entries": kept.entries, "words": kept.words, "tfs": kept.tfs}
        left_groups = Jsonb([group for group, lives in zip(groups, live, strict=True) if lives])
        row = {"number": number, "run": run, "ids": Jsonb(ids), "groups": left_groups, **described}
        connection.execute(_SQL["replace_word_run"], row)
    connection.execute(_SQL["drop_word_runs_of"], {"number": number, "runs": empty})
    connection.execute(_SQL["drop_word_ranges"], {"number": number, **_columns(("names", "firsts"), ranges)})


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Turn rows into one array per column, as ``unnest`` expects them."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _described(batches: Sequence[PostingBatch]) -> dict[str, list[Any]]:
    rows = [(batch.n, batch.first, batch.last, batch.postings) for batch in batches]
    return _columns(("counts", "firsts", "lasts", "postings"), rows)
