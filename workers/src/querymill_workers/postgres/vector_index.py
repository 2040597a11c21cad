"""Indexes of near vectors: one for each large collection and model, none for small ones.

A table holds vectors of every dimension, and a graph only those of one collection and model. So a small collection
beside a large one is compared exactly, and never walks the graph of the large one.
"""

import hashlib
import threading
from typing import Any, Final

import psycopg
import structlog
from cachetools import TTLCache
from psycopg import sql

from querymill_workers.postgres.connection import Pool, connect, lent, within
from querymill_workers.postgres.queries import SESSION, statements

_log = structlog.get_logger(__name__)
_SQL: Final = statements("querymill_workers.postgres", "vector_index.sql")

#: A collection with more vectors of a model gets an index. Up to as many are compared exactly.
LARGE_ROWS: Final = 10_000
#: How long a process remembers whether there is an index, in seconds.
KNOWN_FOR_S: Final = 30.0
#: Of a million vectors in clusters, 16 neighbours led to 0.95 of the ten nearest, and 24 among 128 to more than 0.99.
NEIGHBOURS, BREADTH = 24, 128


class VectorIndexes:
    """The indexes of a table with the columns ``collection``, ``model`` and ``embedding``."""

    def __init__(self, pool: Pool, table: str) -> None:
        self._pool = pool
        self._table = table
        self._known: TTLCache[tuple[str, str], bool] = TTLCache(4_096, KNOWN_FOR_S)
        self._lock = threading.Lock()

    def name(self, collection: str, model: str) -> str:
        """Return the name of the index of a collection and model."""
        named = hashlib.md5(f"{collection}\n{model}".encode(), usedforsecurity=False).hexdigest()
        return f"{self._table}_near_{named[:16]}"

    def exists(self, collection: str, model: str) -> bool:
        """Return whether vectors of a model can be searched by index."""
        with self._lock:
            known = self._known.get((collection, model))
        if known is None:
            with lent(self._pool) as connection:
                known = self._state(connection, self.name(collection, model)) is True
            with self._lock:
                self._known[collection, model] = known
        return known

    def make(self, collection: str, model: str, *, dimensions: int) -> bool:
        """Make the index if the collection is large and has none. Return whether it was made.

        Searches and writes continue while it runs. Without the index, searches are slower, not wrong, so nothing is
        done until the next call if another worker makes an index of the table, or if the server fails.
        """
        if self.exists(collection, model) or not self._is_large(collection, model):
            return False
        name = self.name(collection, model)
        definition = self._definition(name, collection, model, dimensions)
        try:
            # Not by the pool, whose connections limit the time of statements.
            with connect(self._pool.url) as holder, connect(self._pool.url, autocommit=True) as connection:
                made = self._has_right(holder) and self._make_alone(connection, name, definition)
        except psycopg.Error as error:
            _log.warning("could not make a vector index", index=name, error=type(error).__name__)
            return False
        with self._lock:
            self._known.pop((collection, model), None)
        return made

    def _has_right(self, holder: psycopg.Connection) -> bool:
        """Take the right to make an index of the table, unless another worker has it.

        It ends with the transaction, also behind a pooler, which does not end a session when its client closes it.
        """
        holder.execute(SESSION["silence_limit"], {"limit": "0"})
        # With a literal: a statement with values leaves its portal open, for whose snapshot the new index would wait.
        statement = sql.SQL(_SQL["try_to_make"]).format(table=sql.Literal(self._table))
        return holder.execute(statement).fetchone() == (True,)

    def _make_alone(self, connection: psycopg.Connection, name: str, definition: sql.Composed) -> bool:
        """Make an index if there is none. No other worker makes one of the table."""
        state = self._state(connection, name)
        if state is True:
            return False
        if state is False:  # a worker died over it
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
        connection.execute(definition)
        # The planner estimates nothing from samples of vectors, and each would be copied into the catalogue.
        unsampled = sql.SQL("ALTER INDEX {} ALTER COLUMN 1 SET STATISTICS 0").format(sql.Identifier(name))
        connection.execute(unsampled)
        return True

    def drop(self, collection: str, model: str) -> None:
        """Drop the index of a model, if there is one."""
        with self._lock:
            self._known.pop((collection, model), None)
        name = sql.Identifier(self.name(collection, model))
        with lent(self._pool) as connection:
            connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(name))

    def _is_large(self, collection: str, model: str) -> bool:
        statement = sql.SQL(_SQL["has_more_vectors"]).format(table=sql.Identifier(self._table))
        with within(self._pool, collection) as connection:
            values = {"collection": collection, "model": model, "rows": LARGE_ROWS}
            return connection.execute(statement, values).fetchone() is not None

    def _definition(self, name: str, collection: str, model: str, dimensions: int) -> sql.Composed:
        return sql.SQL(_SQL["make_near_index"]).format(
            name=sql.Identifier(name),
            table=sql.Identifier(self._table),
            dimensions=sql.Literal(dimensions),
            neighbours=sql.Literal(NEIGHBOURS),
            breadth=sql.Literal(BREADTH),
            collection=sql.Literal(collection),
            model=sql.Literal(model),
        )

    @staticmethod
    def _state(connection: psycopg.Connection[Any], name: str) -> bool | None:
        """Return whether an index is valid, or None if there is none."""
        row = connection.execute(_SQL["near_index"], {"name": name}).fetchone()
        return None if row is None else bool(row[0])
