"""Failures of what a step depends on: those worth another attempt, with what they count as, and those that are not."""

from typing import ClassVar

from querymill_shared.board import Cause
from querymill_shared.contracts.codes import Code
from querymill_shared.log_lines import causes, type_of


class Unavailable(Exception):
    """A store or a provider is away. Another attempt may help, but not within ``again_in_s`` seconds.

    The step waits for it as long as its job may wait, and that uses up no attempt.
    """

    cause: ClassVar[Cause] = "outage"
    code: Code = "provider_down"

    def __init__(self, reason: str, *, again_in_s: float = 0.0, code: Code | None = None) -> None:
        super().__init__(reason)
        self.again_in_s = again_in_s
        self.code = code or type(self).code


class Conflict(Unavailable):
    """Another worker holds, or has just changed, what this one needs. The next attempt comes soon."""

    cause: ClassVar[Cause] = "conflict"
    code = "pending"


class CallFailed(Unavailable):
    """A store or a provider responded, but did not do what it was asked. Another attempt may help, but not many."""

    cause: ClassVar[Cause] = "failure"
    code = "provider_refused"


class Refused(Exception):
    """Another attempt would fail in the same way.

    ``counts_as`` is what the end of its job is counted as; "" is a failure.
    """

    code: Code = "invalid"
    counts_as: ClassVar[str] = ""

    def __init__(self, reason: str, *, code: Code | None = None) -> None:
        super().__init__(reason)
        self.code = code or type(self).code


class NotFound(Refused):
    """What the request names is not stored. The answer to its caller is that, and nothing has failed."""

    counts_as = "not_found"


class Mistaken(Refused):
    """The request breaks a rule that only a worker can check. The mistake is its caller's."""

    counts_as = "refused"


class MalformedInput(Mistaken):
    """An input is malformed, such as a pattern that does not compile."""


def kinds_of(error: BaseException) -> str:
    """Return the types of an exception and of its causes, the first cause first. Their messages may quote user text."""
    return " > ".join(type_of(cause) for cause in causes(error))
