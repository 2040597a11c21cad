"""Every call to a provider: reserve it with the account, make it with retries, and report its outcome."""

import random
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from typing import Any, Generic, TypeVar

from querymill_shared.meters import Refusal
from querymill_workers.inference.account import Account, Grant, LimitReached, Outcome
from querymill_workers.inference.carrying import carry
from querymill_workers.inference.client import Limited, NoResponse, ProviderResponse, Rejected
from querymill_workers.inference.work import CutShort, Misfit, OneCall, Streamed, Unacceptable, Work
from querymill_workers.jobs import tally
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Failed, Refused, Unavailable

T = TypeVar("T")
U = TypeVar("U")
S = TypeVar("S", bound=Streamed)

#: Tries of one call. A response of 429 does not count as a try, because it only says when to call.
TRIES = 3
#: After this many responses of 429, a call without a deadline gives up and its step is put back.
MAX_LIMITED = 10
#: Wait before the second and third try, in seconds, randomly up to half longer or shorter.
BACKOFF_S = (0.2, 0.8)


class Gateway(Generic[T]):
    """Calls one provider and charges the calls to its ``account``. ``clock`` returns monotonic seconds.

    A call that was sent gets all of ``timeout_s``, whether or not its caller waits that long. So a provider that is
    silent for all that time is known to have failed, even if every caller is in a hurry.
    """

    def __init__(
        self, account: Account, name: str, *, timeout_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.account = account
        self.clock = clock
        self._name = name
        self._timeout_s = timeout_s

    def call(self, work: Work[T]) -> ProviderResponse[T] | None:
        """Make a call within the rate limit. Return None if nothing was left to ask.

        The call starts before the work's deadline, and may end after it. It is not tried again after the deadline.

        Raises:
            LimitReached: The rate limit allows no call before the deadline.
            CircuitOpen: The circuit breaker is open.
            Unacceptable: The provider rejected the texts, or its response must not be used.
            Refused: The provider rejected the call, or the deadline has passed.
            Unavailable: No response. Only callers without a deadline get this error; they may try again later.
        """
        return self._retry(work, lambda grant: self._call_and_report(work, grant))

    def listen(
        self, caller: Caller, tokens: int, begin: Callable[[float], ProviderResponse[S]], hear: Callable[[str], bool]
    ) -> S:  # fmt: skip
        """Request a reply in parts, and pass each to ``hear`` until it returns False; see `call`.

        Only the start of a reply is retried, so ``hear`` never gets a part twice, and none after the deadline. The
        account is charged the tokens that the provider reports after the last part. A reply that is left early costs
        all the tokens reserved for it.

        Raises:
            CutShort: The deadline passed before the last part.
            Failed: The reply broke off after it had started.
        """
        work = OneCall(caller, tokens, begin)
        ear = _Ear(hear)
        try:
            return self._wait_for(
                caller, lambda: self._listen(work, ear), f"{self._name}: the reply was cut by the deadline"
            )
        except CutShort:
            ear.leave()
            raise

    def _listen(self, work: OneCall[S], ear: "_Ear") -> S:
        begun = self._retry(work, lambda grant: (grant, self._try_once(work, grant)))
        if begun is None:
            raise RuntimeError("a call of a single caller was not made")
        grant, response = begun
        reply = response.value
        outcome: Outcome = "answered"
        try:
            while (part := reply.next()) is not None and ear.hear(part):
                pass
            outcome = "cut" if ear.has_left else "answered"
        except NoResponse as error:
            outcome = "failed"
            raise Failed(f"{self._name}: the reply broke off: {error}") from error
        finally:
            reply.close()
            self.account.report(grant, outcome, tokens=reply.tokens, limits=response.limits)
        return reply

    def _wait_for(self, caller: Caller, call: Callable[[], U], cut: str) -> U:
        """Make a call and wait for it no longer than the caller has time.

        Raises:
            CutShort: The time is up. The call continues.
        """
        if caller.expires_at is None:
            return call()
        # What the call costs is counted for the caller's step.
        context = copy_context()
        carried = carry(lambda: context.run(call), name=f"call {self._name}")
        try:
            return carried.result(timeout=max(caller.expires_at - self.clock(), 0))
        except TimeoutError:
            if carried.done():
                raise
            raise CutShort(cut, carried) from None

    def _retry(self, work: Work[Any], ask: Callable[[Grant], U]) -> U | None:
        """Try until there is a response, within the rate limit and the deadline; see `call`."""
        tries = limited = 0
        while True:
            asked = self.clock()
            try:
                grant = self._reserve_and_wait(work)
            finally:
                tally.current().waited_ms += (self.clock() - asked) * 1000
            if grant is None:
                return None
            try:
                return ask(grant)
            except Limited:
                limited += 1
                if limited >= MAX_LIMITED and work.until() is None:
                    raise Unavailable(f"{self._name}: HTTP 429 on {limited} attempts", code="limit") from None
            except NoResponse as error:
                tries += 1
                self._back_off_or_give_up(work, tries, error)

    def call_once(
        self, caller: Caller, tokens: int, ask: Callable[[float], ProviderResponse[T]]
    ) -> ProviderResponse[T]:
        """Make the call of a single caller; see `call`.

        Raises:
            CutShort: The caller's deadline has passed. The call continues.
        """
        work = OneCall(caller, tokens, ask)
        response = self._wait_for(caller, lambda: self.call(work), f"{self._name} unavailable: no response in time")
        if response is None:
            raise RuntimeError("a call of a single caller was not made")
        return response

    def _reserve_and_wait(self, work: Work[Any]) -> Grant | None:
        while True:
            grant = self.account.reserve(
                lane=work.lane,
                tokens=work.tokens(),
                until=work.until(),
                collection=work.collection,
                has_left=work.has_left,
            )
            work.expect(grant.at)
            if not self.account.still_holds(grant):
                continue
            sealed = work.seal()
            if sealed is not None and self._is_late(work):
                self.account.report(grant, "unused")
                raise Refused(f"{self._name}: the deadline passed before the call could be made", code="deadline")
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
                return replace(added, tokens=sealed, call=grant.call)

    def _call_and_report(self, work: Work[T], grant: Grant) -> ProviderResponse[T]:
        response = self._try_once(work, grant)
        self.account.report(grant, "answered", tokens=response.tokens, limits=response.limits)
        return response

    def _try_once(self, work: Work[U], grant: Grant) -> ProviderResponse[U]:
        """Make one try. A failure is reported to the account here, a response is not."""
        step = tally.current()
        step.calls += 1
        try:
            return work.send(self._timeout_s)
        except Limited as error:
            self.account.report(grant, "limited", limits=error.limits, refusal=refusal_of(error, step))
            raise
        except NoResponse as error:
            self.account.report(grant, "failed", refusal=refusal_of(error, step))
            raise
        except Rejected as error:
            self.account.report(grant, "rejected", refusal=refusal_of(error, step))
            reason = f"{self._name} rejected: {error}"
            raise (
                Unacceptable(reason, words=error.words)
                if error.of_content
                else Refused(reason, code="provider_refused")
            ) from error
        except Misfit:
            self.account.report(grant, "answered")
            raise
        except Refused as error:
            self.account.report(grant, "answered")
            raise Unacceptable(str(error)) from error

    def _back_off_or_give_up(self, work: Work[Any], tries: int, error: NoResponse) -> None:
        until, reason = work.until(), f"{self._name} unavailable: {error}"
        if tries >= TRIES:
            raise (Unavailable if until is None else Refused)(reason, code="provider_down") from error
        wait = BACKOFF_S[tries - 1] * random.uniform(0.5, 1.5)  # noqa: S311  # jitter is no secret
        if until is not None and self.clock() + wait >= until:
            raise Refused(reason, code="provider_down") from error
        time.sleep(wait)

    def _is_late(self, work: Work[Any]) -> bool:
        until = work.until()
        return until is not None and self.clock() >= until


def refusal_of(error: Exception, step: tally.Tally) -> Refusal:
    """Return what is kept of a call that the provider did not answer. The message quotes no text of the caller."""
    return Refusal(str(error), step.step, step.job_id)


class _Ear:
    """Passes parts on to a caller until the caller has left."""

    def __init__(self, hear: Callable[[str], bool]) -> None:
        self._hear = hear
        self._lock = threading.Lock()
        self.has_left = False

    def hear(self, part: str) -> bool:
        """Pass a part on. Return False if the caller wants no more."""
        with self._lock:
            return not self.has_left and self._hear(part)

    def leave(self) -> None:
        """Pass nothing on from now on."""
        with self._lock:
            self.has_left = True
