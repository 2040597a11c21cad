"""What an error of PostgreSQL says: the server is away, another worker was first, or the statement failed."""

from typing import Final

import psycopg
import psycopg_pool
from psycopg import errors

from querymill_workers.jobs.faults import CallFailed, Conflict, Unavailable

#: Another worker holds a lock for too long, or changed the same rows at the same time.
_CONFLICTS: Final = (
    errors.LockNotAvailable,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.ObjectInUse,
)
#: The server did what it could. A statement that is too slow or too large today may be so tomorrow.
_FAILURES: Final = (
    errors.QueryCanceled,
    errors.TransactionTimeout,
    errors.ProgramLimitExceeded,
    errors.StatementTooComplex,
)
#: The server is away, shutting down, without room, a replica, or has ended a connection that was silent for too long.
_OUTAGES: Final = (
    psycopg.OperationalError,
    psycopg_pool.PoolTimeout,
    errors.IdleInTransactionSessionTimeout,
    errors.ReadOnlySqlTransaction,
)


def fault_of(error: Exception) -> Unavailable | None:
    """Return the fault that an error stands for, or None if it is a mistake in a statement or its values."""
    reason = f"PostgreSQL: {type(error).__name__.lstrip('_')}"
    if isinstance(error, _CONFLICTS):
        return Conflict(reason)
    if isinstance(error, _FAILURES):
        return CallFailed(reason, code="store_down")
    return Unavailable(reason, code="store_down") if isinstance(error, _OUTAGES) else None
