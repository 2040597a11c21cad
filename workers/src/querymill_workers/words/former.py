"""Take over what workers of the former release write, while a fleet is updated.

They write one row per posting, to tables that this release leaves to them. Whoever of this release touches the index
next moves the rows, which are newer than what the index has of the same entries.
"""

from typing import Final

from psycopg import Connection
from psycopg.rows import TupleRow

from querymill_workers.postgres.queries import statements
from querymill_workers.words.writer import CountedUnit, put_entries

_SQL: Final = statements("querymill_workers.words", "former.sql")


def waiting(connection: Connection[TupleRow]) -> list[tuple[str, str]]:
    """Return the collection and space of indexes that the former release wrote to. Asked across all collections."""
    return [(collection, space) for collection, space in connection.execute(_SQL["former_indexes"])]


def take_over(connection: Connection[TupleRow], collection: str, space: str) -> None:
    """Move what the former release wrote to an index, within the transaction."""
    place = {"collection": collection, "space": space}
    for former, version in connection.execute(_SQL["hold_former_index"], place).fetchall():
        rows = connection.execute(_SQL["former_entries"], {"former": former}).fetchall()
        units = [CountedUnit(id_, group, dict(zip(terms, tfs, strict=True))) for id_, group, terms, tfs in rows]
        if units:
            put_entries(connection, collection, space, units, version=version)
        for kind in ("postings", "units", "frequencies", "groups", "index"):
            connection.execute(_SQL[f"drop_former_{kind}"], {"former": former})
