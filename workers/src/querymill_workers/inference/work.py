"""What callers ask of the gateway: a call, alone or shared, or a stream; and the errors that it answers with."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

from querymill_shared.contracts.fields import Lane
from querymill_shared.tracing import current_traceparent
from querymill_shared.values import value
from querymill_workers.inference.client import NoResponse, ProviderResponse
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused

T = TypeVar("T")


class CutShort(Refused):
    """The caller's deadline passed before the reply was complete. ``reply`` is what still comes, or an error."""

    code = "deadline"

    def __init__(self, reason: str, reply: "Future[Any]") -> None:
        super().__init__(reason)
        self.reply = reply


class Unacceptable(Refused):
    """The provider rejected the texts, or its response must not be used. It may accept fewer of them.

    ``words`` is what the provider said, which may quote a text. ``refused`` has the error of each text that it rejects
    alone, by the index of the text in the call, if that is known.
    """

    code = "provider_refused"

    def __init__(self, reason: str, *, words: str = "", refused: "Mapping[int, Unacceptable] | None" = None) -> None:
        super().__init__(reason)
        self.words = words
        self.refused = refused or {}


class Unanswerable(NoResponse):
    """The provider did not answer this call, but it answered a harmless one right after it."""


class Misfit(Refused):
    """The response is not one of the model that the settings name. Fewer texts would make no difference."""

    code = "provider_refused"


class Work(Protocol[T]):
    """A call to be made. It may still grow while it waits for its grant."""

    @property
    def lane(self) -> Lane:
        """Priority of the call."""
        ...

    @property
    def collection(self) -> str:
        """The collection on whose behalf the call is made."""
        ...

    def has_left(self) -> bool:
        """Return whether nobody waits for the call any more."""
        ...

    def until(self) -> float | None:
        """Return the monotonic seconds by which the call must start, or None if it has no deadline."""
        ...

    def tokens(self) -> int:
        """Estimate the tokens of the call if it were made now."""
        ...

    def parts(self) -> int:
        """Return how many texts the call has that could be sent apart."""
        ...

    def expect(self, at: float) -> None:
        """Take note of when the call will be made, so that callers who cannot wait may leave."""
        ...

    def seal(self) -> int | None:
        """Stop growing. Return the estimated tokens of the call, or None if nothing is left to ask."""
        ...

    def traces(self) -> Sequence[str]:
        """Return the traceparents of those for whom the call is made."""
        ...

    def send(self, timeout_s: float) -> ProviderResponse[T]:
        """Make the call.

        Raises:
            Limited: HTTP 429.
            NoResponse: Another try may help.
            Rejected: Another try would not help.
            Refused: The response must not be used.
        """
        ...


@value
class OneCall(Generic[T]):
    """Work of a single caller. It does not grow."""

    caller: Caller
    estimated_tokens: int
    ask: Callable[[float], ProviderResponse[T]]
    count: int = 1

    @property
    def lane(self) -> Lane:
        """The caller's lane."""
        return self.caller.lane

    @property
    def collection(self) -> str:
        """The caller's collection."""
        return self.caller.collection

    def has_left(self) -> bool:
        """Return whether the caller's job has ended."""
        return self.caller.has_left()

    def until(self) -> float | None:
        """Return the caller's deadline."""
        return self.caller.expires_at

    def tokens(self) -> int:
        """Return the estimate."""
        return self.estimated_tokens

    def parts(self) -> int:
        """Return how many texts the call has."""
        return self.count

    def expect(self, at: float) -> None:
        """Do nothing: a caller that cannot wait has been refused already."""

    def seal(self) -> int:
        """Return the estimate, which does not change."""
        return self.estimated_tokens

    def traces(self) -> list[str]:
        """Return the traceparent of the step that asks, if it has one."""
        found = current_traceparent()
        return [found] if found else []

    def send(self, timeout_s: float) -> ProviderResponse[T]:
        """Make the call."""
        return self.ask(timeout_s)


class Streamed(Protocol):
    """A reply that arrives in parts."""

    @property
    def tokens(self) -> int | None:
        """Tokens that were charged for the reply, or None while the provider has not said."""
        ...

    @property
    def fault(self) -> str:
        """What the provider reported instead of the rest of the reply, or "" if it is complete."""
        ...

    def next(self) -> str | None:
        """Return the next part, or None after the last.

        Raises:
            NoResponse: The reply broke off.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
