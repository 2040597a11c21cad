"""What PostgreSQL keeps of columns for its planner: values that were dropped stay there until the next ANALYZE."""

import threading
import time
from typing import Final

import structlog
from psycopg import sql

from querymill_workers.jobs.faults import CallFailed, Conflict, Unavailable
from querymill_workers.postgres.connection import Pool, across, lent

_log = structlog.get_logger(__name__)

#: Seconds after a drop in which samples are taken again; drops until then share them.
SOON_S: Final = 5.0
#: How many times as long as it took nothing is planned after it, so that many drops cost a connection little.
REST: Final = 20.0

#: The columns of texts, ids among them, that are sampled in tables whose rows belong to collections. A table of words
#: names its index instead.
_SAMPLED: Final = """
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
    AND a.atttypid IN ('text'::regtype, 'text[]'::regtype) AND a.attstattarget IS DISTINCT FROM 0
    AND EXISTS (
        SELECT FROM pg_attribute AS named
        WHERE named.attrelid = c.oid AND named.attname IN ('collection', 'word_index') AND NOT named.attisdropped
    )
GROUP BY c.relname ORDER BY c.relname
"""
#: ANALYZE leaves the samples of an empty table as they are.
_CLEAR: Final = """
SELECT pg_clear_attribute_stats(current_schema()::text, relname, attname, false)
FROM pg_class AS c JOIN unnest(%(columns)s::text[]) AS named (attname) ON true
WHERE c.oid = to_regclass(quote_ident(%(table)s)) AND c.reltuples = 0
"""
#: Whether a document was dropped since samples were last taken, or shortly before, as its transaction may have ended
#: after them. PostgreSQL forgets in a crash when it took them, which counts as never.
_DROPPED_SINCE: Final = f"""
WITH sampled AS ({_SAMPLED})
SELECT EXISTS (
    SELECT FROM document_versions
    WHERE dropped_at > (
        SELECT min(coalesce(greatest(last_analyze, last_autoanalyze), '-infinity')) - make_interval(secs => %(soon_s)s)
        FROM sampled JOIN pg_stat_user_tables USING (relname) WHERE schemaname = current_schema()
    )
)
"""  # noqa: S608  # both are constants
_CAN_CLEAR: Final = "SELECT to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL"  # PostgreSQL 18 and newer


class PostgresSamples:
    """`Samples` of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._counting, self._taking = threading.Lock(), threading.Lock()
        self._asked = self._taken = 0
        self._is_planned = False
        self._rests_until = 0.0

    def renew(self) -> None:
        """See `Samples.renew`. Those who ask while samples are taken share the next ones."""
        with self._counting:
            self._asked += 1
            number = self._asked
        with self._taking:
            if self._taken >= number:
                return
            with self._counting:
                serves = self._asked
            self._take()
            self._taken = serves

    def renew_soon(self) -> None:
        """See `Samples.renew_soon`."""
        with self._counting:
            if self._is_planned:
                return
            self._is_planned = True
            wait = max(SOON_S, self._rests_until - time.monotonic())
        timer = threading.Timer(wait, self._renew_as_planned)
        timer.daemon = True
        timer.start()

    def catch_up(self) -> None:
        """See `Samples.catch_up`."""
        with across(self._pool) as connection:
            found = connection.execute(_DROPPED_SINCE, {"soon_s": SOON_S}).fetchone()
        if found == (True,):
            self.renew_soon()

    def _renew_as_planned(self) -> None:
        with self._counting:
            self._is_planned = False  # first: what is dropped from now on may come too late for these samples
        began = time.monotonic()
        try:
            self.renew()
        except Unavailable as error:
            _log.warning("could not renew samples", fault=str(error))
        ended = time.monotonic()
        with self._counting:
            self._rests_until = ended + REST * (ended - began)

    def _take(self) -> None:
        try:
            with lent(self._pool) as connection:
                can_clear = connection.execute(_CAN_CLEAR).fetchone() == (True,)
                sampled = connection.execute(_SAMPLED).fetchall()
            for table, columns in sampled:
                statement = sql.SQL("ANALYZE {} ({})").format(
                    sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
                )
                with lent(self._pool) as connection:
                    connection.execute(statement)
                    if can_clear:
                        connection.execute(_CLEAR, {"table": table, "columns": columns})
        except (Conflict, CallFailed) as error:  # a busy server
            _log.warning("could not renew samples", fault=str(error))
            self.renew_soon()


class NoSamples:
    """`Samples` of a store that keeps none."""

    def renew(self) -> None:
        """See `Samples.renew`."""

    def renew_soon(self) -> None:
        """See `Samples.renew_soon`."""

    def catch_up(self) -> None:
        """See `Samples.catch_up`."""
