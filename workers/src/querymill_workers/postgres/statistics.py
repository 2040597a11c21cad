"""What PostgreSQL's planner knows of a table, kept up to date while a collection grows.

The planner takes a collection that is new since the last ANALYZE for one row. Then every index that begins with the
collection looks equally good to it, and a statement for a few rows may read the whole collection: a bulk load would
take time with the square of its size. The server's own ANALYZE comes a minute later at best, and in a large table only
after a tenth of it has changed.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from cachetools import LRUCache
from psycopg import sql

from querymill_workers.jobs.faults import CallFailed, Conflict
from querymill_workers.postgres.connection import Pool, lent

_log = structlog.get_logger(__name__)

#: After so many rows that this process added to a collection, statistics are taken for the first time.
FIRST_ROWS: Final = 1_000


@dataclass(slots=True)
class _Growth:
    rows: int = 0
    next_at: int = FIRST_ROWS


class ColumnStatistics:
    """The statistics of some columns of a table with the column ``collection``."""

    def __init__(self, pool: Pool, table: str, columns: Sequence[str]) -> None:
        self._pool = pool
        # Only these columns are read. Another worker that takes statistics, or makes an index, is not waited for.
        self._statement = sql.SQL("ANALYZE (SKIP_LOCKED) {} ({})").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        self._growth: LRUCache[str, _Growth] = LRUCache(4_096)
        self._lock = threading.Lock()

    def note(self, collection: str, rows: int) -> bool:
        """Note that rows were added and committed. Return whether statistics were taken.

        They are taken after `FIRST_ROWS`, and then each time the collection has doubled.
        """
        with self._lock:
            growth = self._growth.setdefault(collection, _Growth())
            growth.rows += rows
            if growth.rows < growth.next_at:
                return False
            growth.next_at = 2 * growth.rows
        try:
            with lent(self._pool) as connection:
                connection.execute(self._statement)
        except (Conflict, CallFailed) as error:  # it took too long, for example: statements are slower, not wrong
            _log.warning("could not take statistics", fault=str(error))
            return False
        return True
