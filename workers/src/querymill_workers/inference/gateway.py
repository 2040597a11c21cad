"""Every call to a provider: reserve it with the account, make it with retries, and report its outcome."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.account import Account, Grant, LimitReached, Outcome
from querymill_workers.inference.client import Limited, NoResponse, ProviderResponse, Rejected, TimedOut
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable

T = TypeVar("T")
U = TypeVar("U")

#: Tries of one call. A response of 429 does not count as a try, because it only says when to call.
TRIES = 3
#: After this many responses of 429, a call without a deadline gives up and its step is put back.
MAX_LIMITED = 10
#: Wait before the second and third try, in seconds, randomly up to half longer or shorter.
BACKOFF_S = (0.2, 0.8)


class CutShort(Refused):
    """The caller's deadline passed before the reply was complete."""


class Work(Protocol[T]):
    """A call to be made. It may still grow while it waits for its grant."""

    @property
    def lane(self) -> Lane:
        """Priority of the call."""
        ...

    def until(self) -> float | None:
        """Return the monotonic seconds by which the call must start, or None if it has no deadline."""
        ...

    def tokens(self) -> int:
        """Estimate the tokens of the call if it were made now."""
        ...

    def expect(self, at: float) -> None:
        """Take note of when the call will be made, so that callers who cannot wait may leave."""
        ...

    def seal(self) -> int | None:
        """Stop growing. Return the estimated tokens of the call, or None if nothing is left to ask."""
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


@dataclass(frozen=True, slots=True)
class OneCall(Generic[T]):
    """Work of a single caller. It does not grow."""

    caller: Caller
    estimated_tokens: int
    ask: Callable[[float], ProviderResponse[T]]

    @property
    def lane(self) -> Lane:
        """The caller's lane."""
        return self.caller.lane

    def until(self) -> float | None:
        """Return the caller's deadline."""
        return self.caller.expires_at

    def tokens(self) -> int:
        """Return the estimate."""
        return self.estimated_tokens

    def expect(self, at: float) -> None:
        """Do nothing: a caller that cannot wait has been refused already."""

    def seal(self) -> int:
        """Return the estimate, which does not change."""
        return self.estimated_tokens

    def send(self, timeout_s: float) -> ProviderResponse[T]:
        """Make the call."""
        return self.ask(timeout_s)


class Streamed(Protocol):
    """A reply that arrives in parts."""

    @property
    def tokens(self) -> int | None:
        """Tokens that were charged for the reply, or None while the provider has not said."""
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


S = TypeVar("S", bound=Streamed)


class Gateway(Generic[T]):
    """Calls one provider and charges the calls to its ``account``. ``clock`` returns monotonic seconds."""

    def __init__(
        self, account: Account, name: str, *, timeout_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.account = account
        self.clock = clock
        self._name = name
        self._timeout_s = timeout_s

    def call(self, work: Work[T]) -> ProviderResponse[T] | None:
        """Make a call within the rate limit and the caller's deadline. Return None if nothing was left to ask.

        Raises:
            LimitReached: The rate limit allows no call before the deadline.
            CircuitOpen: The circuit breaker is open.
            Refused: The provider rejected the call, its response must not be used, or the deadline has passed.
            Unavailable: No response. Only callers without a deadline get this error; they may try again later.
        """
        return self._retry(work, lambda grant: self._call_and_report(work, grant))

    def listen(
        self, caller: Caller, tokens: int, begin: Callable[[float], ProviderResponse[S]], hear: Callable[[str], bool]
    ) -> S:  # fmt: skip
        """Request a reply in parts, and pass each to ``hear`` until it returns False; see `call`.

        Only the start of a reply is retried, so ``hear`` never gets a part twice. The account is charged the tokens
        that the provider reports after the last part. A reply that is left early costs all the tokens reserved for it.

        Raises:
            Unavailable: The reply broke off after it had started.
        """
        work = OneCall(caller, tokens, begin)

        def ask(grant: Grant) -> tuple[Grant, float, ProviderResponse[S]]:
            limit_s = self._time_left_s(work)
            return grant, limit_s, self._try_once(work, grant, limit_s)

        begun = self._retry(work, ask)
        if begun is None:
            raise RuntimeError("a call of a single caller was not made")
        grant, limit_s, response = begun
        reply = response.value
        outcome: Outcome = "answered"
        try:
            self._pass_on(reply, caller.expires_at, hear)
        except NoResponse as error:
            outcome = self._outcome_of(error, limit_s)
            raise Unavailable(f"{self._name}: the reply broke off: {error}") from error
        except CutShort:
            outcome = "cut"
            raise
        finally:
            reply.close()
            self.account.report(grant, outcome, tokens=reply.tokens, limits=response.limits)
        return reply

    def _pass_on(self, reply: Streamed, until: float | None, hear: Callable[[str], bool]) -> None:
        while (part := reply.next()) is not None and hear(part):
            if until is not None and self.clock() >= until:
                raise CutShort(f"{self._name}: the reply was cut by the deadline")

    def _retry(self, work: Work[Any], ask: Callable[[Grant], U]) -> U | None:
        """Try until there is a response, within the rate limit and the deadline; see `call`."""
        tries = limited = 0
        while True:
            grant = self._reserve_and_wait(work)
            if grant is None:
                return None
            try:
                return ask(grant)
            except Limited:
                limited += 1
                if limited >= MAX_LIMITED and work.until() is None:
                    raise Unavailable(f"{self._name}: HTTP 429 on {limited} attempts") from None
            except NoResponse as error:
                tries += 1
                self._back_off_or_give_up(work, tries, error)

    def call_once(
        self, caller: Caller, tokens: int, ask: Callable[[float], ProviderResponse[T]]
    ) -> ProviderResponse[T]:
        """Make the call of a single caller; see `call`."""
        response = self.call(OneCall(caller, tokens, ask))
        if response is None:
            raise RuntimeError("a call of a single caller was not made")
        return response

    def _reserve_and_wait(self, work: Work[Any]) -> Grant | None:
        while True:
            grant = self.account.reserve(lane=work.lane, tokens=work.tokens(), until=work.until())
            work.expect(grant.at)
            if not self.account.still_holds(grant):
                continue
            sealed = work.seal()
            if sealed is None:
                self.account.report(grant, "unused")
                return None
            more = sealed - grant.tokens
            if more <= 0:
                return grant
            try:
                added = self.account.reserve(lane=work.lane, tokens=more, until=work.until(), requests=0)
            except LimitReached:
                self.account.report(grant, "unused")
                raise
            if self.account.still_holds(added):
                return Grant(grant.lane, sealed, added.at, added.epoch)

    def _call_and_report(self, work: Work[T], grant: Grant) -> ProviderResponse[T]:
        response = self._try_once(work, grant, self._time_left_s(work))
        self.account.report(grant, "answered", tokens=response.tokens, limits=response.limits)
        return response

    def _try_once(self, work: Work[U], grant: Grant, limit_s: float) -> ProviderResponse[U]:
        """Make one try. A failure is reported to the account here, a response is not."""
        try:
            return work.send(limit_s)
        except Limited as error:
            self.account.report(grant, "limited", limits=error.limits)
            raise
        except NoResponse as error:
            self.account.report(grant, self._outcome_of(error, limit_s))
            raise
        except Rejected as error:
            self.account.report(grant, "rejected")
            raise Refused(f"{self._name} rejected: {error}") from error
        except Refused:
            self.account.report(grant, "answered")
            raise

    def _outcome_of(self, error: NoResponse, limit_s: float) -> Outcome:
        """Return "failed", or "cut" if the caller's deadline allowed less time than a provider may take."""
        return "cut" if isinstance(error, TimedOut) and limit_s < self._timeout_s else "failed"

    def _back_off_or_give_up(self, work: Work[Any], tries: int, error: NoResponse) -> None:
        until, reason = work.until(), f"{self._name} unavailable: {error}"
        if tries >= TRIES:
            raise (Unavailable if until is None else Refused)(reason) from error
        wait = BACKOFF_S[tries - 1] * random.uniform(0.5, 1.5)  # noqa: S311  # jitter is no secret
        if until is not None and self.clock() + wait >= until:
            raise Refused(reason) from error
        time.sleep(wait)

    def _time_left_s(self, work: Work[Any]) -> float:
        until = work.until()
        return self._timeout_s if until is None else min(self._timeout_s, max(until - self.clock(), 0.01))
