"""The errors that a producer can get.

QuerymillError
├── InvalidRequest
├── UnknownCollection
├── UnknownJob
├── UnreadableJob
├── IdempotencyConflict
├── StillRunning
├── ClientClosed
├── Overloaded
├── TooManyRequests
├── AccessDenied
├── Unavailable
├── UnexpectedReply
└── JobEnded
    ├── JobFailed
    └── JobCancelled
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from pydantic import ValidationError

#: A validation error that holds more is counted, not listed.
MAX_ERRORS: Final = 1_000
#: Why a job failed, by code, in words for the person who asked. Those who run the mill read the reason itself.
_WHY_FAILED: Final[Mapping[str, str]] = {
    "limit": "a limit of a model's provider left no call before the deadline",
    "deadline": "it was not finished by its deadline",
    "slow": "a model took too long",
    "provider_down": "a model's provider did not respond",
    "provider_refused": "a model's provider refused it, or replied with nothing of use",
    "store_down": "a store was away",
    "pending": "something has to be finished first",
    "cut": "it was shortened to fit a limit",
    "lost": "the workers that ran it were lost",
    "invalid": "its input breaks a rule",
    "budget": "the budget of its API key is spent for the day",
    "bug": "an internal error",
}


class QuerymillError(Exception):
    """Base class of every error that Querymill raises.

    Its text may be shown to an end user: it holds no address, no secret and nothing of a question or a document.

    Attributes:
        detail: The whole story, for those who run the program; where there is more of it, a traceback shows it too.
    """

    def __init__(self, message: str = "", *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail or message
        if self.detail != message:
            self.add_note(self.detail)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again in another process. Its arguments are not those of its class."""
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(kind: type[QuerymillError], arguments: tuple[Any, ...]) -> QuerymillError:
    error = kind.__new__(kind)
    error.args = arguments
    return error


def detail_of(error: BaseException) -> str:
    """Return what those who run a program need to know of an error."""
    return error.detail if isinstance(error, QuerymillError) else str(error)


class InvalidRequest(QuerymillError, ValueError):
    """Raised by a call whose arguments break a rule. Nothing was enqueued.

    Attributes:
        errors: Each field with the rule that it breaks.
    """

    def __init__(self, *errors: tuple[str, str]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{field}: {rule}" for field, rule in errors))

    @classmethod
    def of(cls, error: ValidationError) -> Self:
        """Return the error of a call with what breaks the rules of its request."""
        return cls(
            *((".".join(map(str, entry["loc"])) or "request", rule_text(entry)) for entry in first_errors(error, 5))
        )


class UnknownCollection(QuerymillError):
    """Raised when nothing of this kind was ever ingested into the collection.

    Attributes:
        known: The names of the collections that hold something of the kind, which not every caller may see.
    """

    def __init__(self, collection: str, kind: str, known: Iterable[str]) -> None:
        self.collection = collection
        self.kind = kind
        self.known = tuple(sorted(known))
        reason = f"collection: no {kind} in {collection!r}"
        super().__init__(reason, detail=f"{reason}; collections with {kind}: {', '.join(self.known) or 'none yet'}")


class UnknownJob(QuerymillError):
    """Raised when no job has this id, or its result has expired."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id!r} not found: the id is wrong, or its result has expired")


class UnreadableJob(QuerymillError):
    """Raised when this release cannot read a job on the board, for example because a newer release wrote it.

    Attributes:
        reason: The fields that cannot be read, and the rules that they break.
        left_for_s: For how long workers have left the step to others, in seconds; 0 if none has.
    """

    def __init__(self, job_id: str, reason: str, *, left_for_s: float = 0.0) -> None:
        super().__init__(f"job {job_id} cannot be read by this release", detail=f"job {job_id}: {reason}")
        self.reason = reason
        self.left_for_s = left_for_s


class IdempotencyConflict(QuerymillError):
    """Raised when an idempotency key was already used for a different request."""

    def __init__(self, key: str, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(
            "idempotency_key: was already used for a different request; use a new key",
            detail=f"idempotency_key {key!r} was already used for job {job_id} with a different request; use a new key",
        )


class StillRunning(QuerymillError, TimeoutError):
    """Raised when a job has not ended within the time that its caller waits. The job continues."""

    def __init__(self, job_id: str, *, unattended: Iterable[str] = ()) -> None:
        self.job_id = job_id
        queues = ", ".join(f"`{queue}`" for queue in unattended)
        why = f"; no worker listens on {queues}" if queues else ""
        super().__init__(f"job {job_id} is still running; the wait timed out{why}")


class ClientClosed(QuerymillError):
    """Raised when the client was closed while a caller waited for a job. The job continues."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id}: the client was closed while waiting for it; the job continues")


class Overloaded(QuerymillError):
    """Raised when so much work waits that a job could not begin before its deadline. Nothing was enqueued.

    Attributes:
        retry_after_s: In how many seconds workers will have begun the work that waits now, at their present speed.
    """

    def __init__(self, retry_after_s: float) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(
            f"too much work waits to begin this before its deadline; try again in {math.ceil(retry_after_s)} s"
        )


class TooManyRequests(QuerymillError):
    """Raised when a gateway has no room for the requests of a key just now, however long it was waited for.

    Attributes:
        retry_after_s: In how many seconds it may have.
    """

    def __init__(self, retry_after_s: float) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(f"too many requests; try again in {math.ceil(retry_after_s)} s")


class AccessDenied(QuerymillError):
    """Raised when a gateway does not accept the API key, or the key may not do what was asked, as ``detail`` says."""

    def __init__(self, detail: str) -> None:
        super().__init__("this program may not do that", detail=detail)


class UnexpectedReply(QuerymillError):
    """Raised when an address answers in a way that no gateway does, or a gateway has a defect; ``detail`` quotes it."""

    def __init__(self, detail: str) -> None:
        super().__init__("the gateway answered in a way that this program does not understand", detail=detail)


class Unavailable(QuerymillError):
    """Raised when the board or the gateway is away: not reachable, silent, starting, or refusing. Try again later.

    If it is raised while a job is submitted, the job may be on the board. An idempotency key makes the next try safe.
    """


class JobEnded(QuerymillError):
    """Raised when a job ended without a result.

    Attributes:
        reason: How and why it ended, as those who run the mill read it. The text of the error has the code in words.
        code: Why, as one of the codes of `querymill_shared.contracts.codes`; None if that is unknown.
    """

    def __init__(self, job_id: str, reason: str, *, code: str | None = None, message: str = "") -> None:
        super().__init__(f"job {job_id} {message or reason}", detail=f"job {job_id} {reason}")
        self.job_id = job_id
        self.reason = reason
        self.code = code


class JobFailed(JobEnded):
    """Raised when a job failed. The message says why by its code, ``detail`` and ``reason`` in full."""

    def __init__(self, job_id: str, reason: str, *, code: str | None = None) -> None:
        why = _WHY_FAILED.get(code or "")
        super().__init__(job_id, reason, code=code, message=f"failed: {why}" if why else "failed")


class JobCancelled(JobEnded):
    """Raised when a job was cancelled."""


def broken_rules(error: ValidationError) -> str:
    """Return the first fields and rules of a validation error, without quoting any input."""
    broken = [
        f"{'.'.join(map(str, part['loc'])) or 'all'}: {part['type']}" for part in error.errors(include_input=False)
    ]
    return ", ".join(broken[:3])


def first_errors(error: ValidationError, limit: int) -> list[Mapping[str, Any]]:
    """Return the first entries of a validation error, or one that counts them if listing them would take too long."""
    count = error.error_count()
    if count > MAX_ERRORS:
        return [{"type": "too_many", "loc": (), "msg": f"breaks {count} rules, too many to list", "ctx": {}}]
    return [*error.errors(include_url=False)[:limit]]


def rule_text(entry: Mapping[str, Any]) -> str:
    """Return the rule of an entry of a validation error in the words of JSON, which callers write, not of Python."""
    match entry["type"]:
        case "tuple_type":
            return "Input should be a valid list"
        case "model_type" | "model_attributes_type" | "dict_type" | "mapping_type":
            return "Input should be an object"
        case "string_pattern_mismatch" if "pattern" in entry.get("ctx", {}):
            return "must be written otherwise"  # a regular expression tells people nothing
        case _:
            rule: str = entry["msg"]
            return rule.removeprefix("Value error, ").replace("Tuple should have", "List should have")
