"""What the failures of MongoDB mean for a step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bson.errors import BSONError
from pymongo.errors import BulkWriteError, ConnectionFailure, DuplicateKeyError, PyMongoError

from querymill_shared.tracing import part
from querymill_workers.jobs.faults import CallFailed, Conflict, Refused, Unavailable

#: The server's codes for a record that another worker added, or is changing, at the same time.
_CONFLICTS: Final = frozenset({11_000, 112})


@contextmanager
def mongo_faults() -> Iterator[None]:
    """Raise `Unavailable` if the server does not respond, and `Refused` if it rejects an operation.

    Of two workers that write the same record at once, the second tries again: `Conflict`.
    """
    try:
        with part("mongodb", "CLIENT", db__system__name="mongodb"):
            yield
    except DuplicateKeyError as error:
        raise Conflict(f"MongoDB: {type(error).__name__}") from error
    except BulkWriteError as error:
        codes = {wrong.get("code") for wrong in error.details.get("writeErrors", ())}
        fault = Conflict if codes and codes <= _CONFLICTS else CallFailed
        raise fault(f"MongoDB: {type(error).__name__}") from error
    except ConnectionFailure as error:
        raise Unavailable(f"MongoDB: {type(error).__name__}", code="store_down") from error
    except (PyMongoError, BSONError) as error:
        raise Refused(f"MongoDB: {type(error).__name__}", code="bug") from error
