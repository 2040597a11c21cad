"""The one way to a provider: breaker and budget before the call, the account after it, retries around it."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.account import Account, Grant, LimitReached, Outcome
from querymill_workers.inference.client import Answer, Limited, NoAnswer, Rejected, TimedOut
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable

T = TypeVar("T")
U = TypeVar("U")

#: A call is tried so often; answers of 429 do not count, for they only say when.
TRIES = 3
#: How often a call without a deadline meets a 429 before its step is put back.
PATIENCE = 10
#: Wait before the second and third try, in seconds, give or take a half.
BACKOFF_S = (0.2, 0.8)


class CutShort(Refused):
    """The caller's time was up before the reply was over."""


class Work(Protocol[T]):
    """What is to be asked; it may still grow while it waits for its grant."""

    @property
    def lane(self) -> Lane:
        """Who goes first."""
        ...

    def until(self) -> float | None:
        """Monotonic seconds by which the call must have begun; None: no end."""
        ...

    def tokens(self) -> int:
        """Estimate the tokens of what would be asked now."""
        ...

    def expect(self, at: float) -> None:
        """Learn when the call will go; who cannot wait so long may leave."""
        ...

    def seal(self) -> int | None:
        """Take in nothing more; return the tokens of what is asked, None when nothing is left to ask."""
        ...

    def send(self, timeout_s: float) -> Answer[T]:
        """Ask.

        Raises:
            Limited: 429.
            NoAnswer: Another try may help.
            Rejected: It would not.
            Refused: An answer came that must not be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class OneCall(Generic[T]):
    """Work that is one caller's alone and does not grow: its estimated tokens, and how to ask."""

    caller: Caller
    estimated_tokens: int
    ask: Callable[[float], Answer[T]]

    @property
    def lane(self) -> Lane:
        """The lane of whoever asks."""
        return self.caller.lane

    def until(self) -> float | None:
        """The caller's time."""
        return self.caller.expires_at

    def tokens(self) -> int:
        """As estimated."""
        return self.estimated_tokens

    def expect(self, at: float) -> None:
        """It waits alone: being refused in time is enough."""

    def seal(self) -> int:
        """It does not grow."""
        return self.estimated_tokens

    def send(self, timeout_s: float) -> Answer[T]:
        """Ask."""
        return self.ask(timeout_s)


class Streamed(Protocol):
    """A reply that comes in parts."""

    @property
    def tokens(self) -> int | None:
        """Tokens it was charged with; None while that was not told."""
        ...

    def next(self) -> str | None:
        """Return the next part; None after the last.

        Raises:
            NoAnswer: It broke off.
        """
        ...

    def close(self) -> None:
        """Hear no more of it."""
        ...


S = TypeVar("S", bound=Streamed)


class Gateway(Generic[T]):
    """Calls one provider on behalf of many, charging its ``account``; ``clock`` gives monotonic seconds."""

    def __init__(
        self, account: Account, name: str, *, timeout_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.account = account
        self.clock = clock
        self._name = name
        self._timeout_s = timeout_s

    def call(self, work: Work[T]) -> Answer[T] | None:
        """Ask within the limits and the time there is; None when nothing was left to ask.

        Raises:
            LimitReached: The limit leaves no call in time.
            CircuitOpen: The provider is left alone for now.
            Refused: The provider rejects this, gave what must not be used, or the caller's time is up.
            Unavailable: No answer; a caller without a deadline may come back later.
        """
        return self._persistently(work, lambda grant: self._sent(work, grant))

    def listen(
        self, caller: Caller, tokens: int, begin: Callable[[float], Answer[S]], hear: Callable[[str], bool]
    ) -> S:  # fmt: skip
        """Ask for a reply in parts, and let each be heard until it ends or nobody hears; see `call`.

        Only its beginning is tried again: nobody hears anything twice. The budget is reserved before, and what
        the provider then says it was is charged after the last part; of a reply left early, all that was reserved.

        Raises:
            Unavailable: It broke off after it had begun.
        """
        work = OneCall(caller, tokens, begin)

        def ask(grant: Grant) -> tuple[Grant, float, Answer[S]]:
            limit_s = self._time_left_s(work)
            return grant, limit_s, self._asked(work, grant, limit_s)

        begun = self._persistently(work, ask)
        if begun is None:
            raise RuntimeError("work that never shrinks to nothing was left unasked")
        grant, limit_s, answer = begun
        reply = answer.value
        outcome: Outcome = "answered"
        try:
            self._heard(reply, caller.expires_at, hear)
        except NoAnswer as error:
            outcome = self._outcome_of(error, limit_s)
            raise Unavailable(f"{self._name}: the reply broke off: {error}") from error
        except CutShort:
            outcome = "cut"
            raise
        finally:
            reply.close()
            self.account.report(grant, outcome, tokens=reply.tokens, told=answer.told)
        return reply

    def _heard(self, reply: Streamed, until: float | None, hear: Callable[[str], bool]) -> None:
        while (part := reply.next()) is not None and hear(part):
            if until is not None and self.clock() >= until:
                raise CutShort(f"{self._name}: the reply was cut by the deadline")

    def _persistently(self, work: Work[Any], ask: Callable[[Grant], U]) -> U | None:
        """Ask until there is an answer, within the limits and the time there is; see `call`."""
        tries = patience = 0
        while True:
            grant = self._granted(work)
            if grant is None:
                return None
            try:
                return ask(grant)
            except Limited:
                patience += 1
                if patience >= PATIENCE and work.until() is None:
                    raise Unavailable(f"{self._name}: HTTP 429, again and again") from None
            except NoAnswer as error:
                tries += 1
                self._back_off_or_give_up(work, tries, error)

    def call_once(self, caller: Caller, tokens: int, ask: Callable[[float], Answer[T]]) -> Answer[T]:
        """Ask for one caller alone; see `call`."""
        answer = self.call(OneCall(caller, tokens, ask))
        if answer is None:
            raise RuntimeError("work that never shrinks to nothing was left unasked")
        return answer

    def _granted(self, work: Work[Any]) -> Grant | None:
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

    def _sent(self, work: Work[T], grant: Grant) -> Answer[T]:
        answer = self._asked(work, grant, self._time_left_s(work))
        self.account.report(grant, "answered", tokens=answer.tokens, told=answer.told)
        return answer

    def _asked(self, work: Work[U], grant: Grant, limit_s: float) -> Answer[U]:
        """Ask once; an answer is yet to be reported, a failure was."""
        try:
            return work.send(limit_s)
        except Limited as error:
            self.account.report(grant, "limited", told=error.told)
            raise
        except NoAnswer as error:
            self.account.report(grant, self._outcome_of(error, limit_s))
            raise
        except Rejected as error:
            self.account.report(grant, "rejected")
            raise Refused(f"{self._name} refused: {error}") from error
        except Refused:
            self.account.report(grant, "answered")
            raise

    def _outcome_of(self, error: NoAnswer, limit_s: float) -> Outcome:
        """Tell a provider that failed from a caller who could not wait as long as a provider may take."""
        return "cut" if isinstance(error, TimedOut) and limit_s < self._timeout_s else "failed"

    def _back_off_or_give_up(self, work: Work[Any], tries: int, error: NoAnswer) -> None:
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
