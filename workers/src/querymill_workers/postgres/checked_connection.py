"""A connection to PostgreSQL that waits for no reply for ever."""

import math
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import psycopg
from psycopg import Connection
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

from querymill_workers.postgres.queries import SESSION

RV = TypeVar("RV")

#: The server cancels a statement that takes longer than this, in milliseconds.
STATEMENT_TIMEOUT_MS = 15_000
#: The worker closes a connection on which nothing comes for this long, in seconds. The server would have cancelled the
#: statement, so the connection is half open: on the way, something swallows what is sent and confirms it.
RESPONSE_S = STATEMENT_TIMEOUT_MS / 1000 + 3
#: The same for a check of an idle connection, and for what ends a transaction that failed.
CHECK_S = 3.0
#: The same for a statement without a time limit.
UNHURRIED_S = 3_600.0


class CheckedConnection(Connection[TupleRow]):
    """A connection that waits for no reply for ever.

    It records its last success, and the last success and failure of the process, for checks.
    """

    opened_at: float = -math.inf
    answered_at: float = -math.inf
    any_answered_at: ClassVar[float] = -math.inf
    failed_at: ClassVar[float] = -math.inf
    #: How long the current statement may take, in seconds.
    limit_s: float = RESPONSE_S
    #: Whether no reply came within the limit.
    fell_silent: bool = False
    limits_transactions: bool = False
    #: Settings that hold in every transaction.
    kept: Mapping[str, str] = MappingProxyType({})
    #: Whether the session keeps them. A pooler such as PgBouncer lends it to other clients, too.
    has_own_session: bool = True

    def keep_settings(self) -> None:
        """Begin a transaction with the settings that hold in every one, unless the session keeps them."""
        if not self.has_own_session:
            self.execute(SESSION["keep_in_transaction"], listed(self.kept))

    def limit_transaction(self, limit_ms: int) -> None:
        """Replace the time limit of the current transaction; 0 lifts it."""
        if self.limits_transactions:
            self.execute(SESSION["transaction_limit"], {"limit": str(limit_ms)})

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for a reply, at most for the limit. A connection on which none came is closed."""
        until = time.monotonic() + self.limit_s
        try:
            return super().wait(gen, interval=interval, timeout=self.limit_s if timeout is None else timeout)
        except psycopg.OperationalError:
            if time.monotonic() >= until:
                self.fell_silent = True
                self.pgconn.finish()  # a rollback would wait for a reply as well
            raise


def listed(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return settings as the parameters of `SESSION`'s statements that change them."""
    return {"names": list(settings), "values": list(settings.values())}
