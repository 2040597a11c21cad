"""Every call to a provider: reserve it with the account, make it with retries, and report its outcome.

A call that fails is no proof that the provider is unwell: one text may be at fault. So a harmless call is made right
after it. If that is answered, the failure does not count against the provider, and the text is given up after it has
failed again and again in the same way.
"""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Generic, Literal, TypeVar

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import CallOutcome, Refusal
from querymill_shared.tracing import span_below
from querymill_workers.inference.account import Account, Grant, LimitReached, RateLimitHeaders
from querymill_workers.inference.carrying import carry
from querymill_workers.inference.client import Limited, NoResponse, ProviderResponse, Rejected, worded
from querymill_workers.inference.complaints import code_in
from querymill_workers.inference.streams import Ear
from querymill_workers.inference.work import CutShort, Misfit, OneCall, Streamed, Unacceptable, Unanswerable, Work
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import CallFailed, Refused, Unavailable

T = TypeVar("T")
U = TypeVar("U")
S = TypeVar("S", bound=Streamed)

#: Tries of one call. A response of 429 does not count as a try, because it only says when to call.
TRIES = 3
#: After this many responses of 429, a call without a deadline gives up and its step is put back.
MAX_LIMITED = 10
#: Wait before the second and third try, in seconds, randomly up to half longer or shorter.
BACKOFF_S = (0.2, 0.8)
#: So many tries of one text fail in the same way, each beside harmless calls that are answered, before a caller without
#: a deadline gives the text up. Of others, `TRIES` do.
SAME_FAILURES: Final = 4
#: A harmless call gets so many seconds, costs so many tokens at most, and waits so long for a limit.
PROBE_TIMEOUT_S, PROBE_TOKENS, PROBE_WAIT_S = 5.0, 50, 600.0

Health = Literal["well", "limited", "unwell"]


class Gateway(Generic[T]):
    """Calls one provider and charges the calls to its ``account``. ``clock`` returns monotonic seconds.

    ``probe`` makes a harmless call, within so many seconds; it raises what a call raises. Without one, every failure
    counts against the provider.

    A call that was sent gets all of ``timeout_s``, whether or not its caller waits that long. So a provider that is
    silent for all that time is known to have failed, even if every caller is in a hurry. ``traced_as`` is the operation
    and the model that spans of its calls name.
    """

    def __init__(
        self, account: Account, name: str, *, timeout_s: float, probe: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic, traced_as: tuple[str, str] = ("", ""),
    ) -> None:  # fmt: skip
        self.account = account
        self.clock = clock
        self._name = name
        self._timeout_s = timeout_s
        self._probe = probe
        self._traced_as = traced_as

    def call(self, work: Work[T]) -> ProviderResponse[T] | None:
        """Make a call within the rate limit. Return None if nothing was left to ask.

        The call starts before the work's deadline, and may end after it. It is not tried again after the deadline.

        Raises:
            LimitReached: The rate limit allows no call before the deadline.
            CircuitOpen: The circuit breaker is open.
            Paused: The provider has paused the fleet, and the caller has no deadline.
            Unacceptable: The provider rejected the texts, or does not answer them, or its response must not be used.
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
        ear = Ear(hear)
        try:
            return self._wait_for(
                caller, lambda: self._listen(work, ear), f"{self._name}: the reply was cut by the deadline"
            )
        except CutShort:
            ear.leave()
            raise

    def _listen(self, work: OneCall[S], ear: "Ear") -> S:
        begun = self._retry(work, lambda grant: (grant, self._try_once(work, grant)))
        if begun is None:
            raise RuntimeError("a call of a single caller was not made")
        grant, response = begun
        reply = response.value
        outcome: CallOutcome = "answered"
        try:
            with job_counts.calling(self._traced_as[0] or "call"):
                while (part := reply.next()) is not None and ear.hear(part):
                    pass
            if ear.has_left:
                outcome = "cut"
            elif reply.fault:
                outcome = self._outcome_of_break(work.lane)
        except NoResponse as error:
            outcome = self._outcome_of_break(work.lane)
            raise CallFailed(f"{self._name}: the reply broke off: {error}") from error
        finally:
            reply.close()
            self.account.report(grant, outcome, tokens=reply.tokens, limits=response.limits)
        return reply

    def _outcome_of_break(self, lane: Lane) -> CallOutcome:
        """Return what the account is told of a reply that broke off."""
        return "failed" if self._health(lane) == "unwell" else "cut"

    def _wait_for(self, caller: Caller, call: Callable[[], U], cut: str) -> U:
        """Make a call and wait for it no longer than the caller has time.

        Raises:
            CutShort: The time is up. The call continues.
        """
        if caller.expires_at is None:
            return call()
        carried = carry(call, name=f"call {self._name}")
        try:
            return carried.result(timeout=max(caller.expires_at - self.clock(), 0))
        except TimeoutError:
            if carried.done():
                raise
            raise CutShort(cut, carried) from None

    def _retry(self, work: Work[Any], ask: Callable[[Grant], U]) -> U | None:
        """Try until there is a response, within the rate limit and the deadline; see `call`."""
        with job_counts.calling(self._traced_as[0] or "call"):
            return self._retry_until(work, ask)

    def _retry_until(self, work: Work[Any], ask: Callable[[Grant], U]) -> U | None:
        tries = limited = 0
        same: list[str] = []
        while True:
            asked = self.clock()
            try:
                grant = self._reserve_and_wait(work)
            finally:
                job_counts.current().waited_ms += (self.clock() - asked) * 1000
            if grant is None:
                return None
            try:
                return ask(grant)
            except Limited as error:
                limited += 1
                if limited >= MAX_LIMITED and work.until() is None:
                    said = f": {error.words}" if error.words else ""
                    raise Unavailable(f"{self._name}: {error} on {limited} attempts{said}", code="limit") from None
            except Unanswerable as error:
                tries += 1
                same = [*same, str(error)] if str(error) in same[-1:] else [str(error)]
                if not self._is_well_before_next_try(work, tries, len(same), error):
                    same = []
            except NoResponse as error:
                tries += 1
                same = []
                self._back_off_or_give_up(work, tries, error)

    def _is_well_before_next_try(self, work: Work[Any], tries: int, same: int, error: Unanswerable) -> bool:
        """Wait for the next try of a call that the provider does not answer. Return whether it is well until then.

        Raises:
            Unacceptable: The call has several texts, or its only one has failed often enough.
        """
        needed = SAME_FAILURES if work.until() is None else TRIES
        if work.parts() > 1:
            time.sleep(_backoff_s(1))  # a provider that is overloaded is not asked for the halves at once
        if work.parts() > 1 or same >= needed:
            raise Unacceptable(f"{self._name} rejected: {error}", words=error.words) from error
        self._back_off_or_give_up(work, tries, error, max_tries=needed)
        # One more harmless call each time: of servers that take turns, one that is ill does not look like an ill text.
        return all(self._health(work.lane) == "well" for _ in range(same - 1))

    def call_once(
        self, caller: Caller, tokens: int, ask: Callable[[float], ProviderResponse[T]], *, parts: int = 1
    ) -> ProviderResponse[T]:
        """Make the call of a single caller, which has so many texts that could be sent apart; see `call`.

        Raises:
            CutShort: The caller's deadline has passed. The call continues.
        """
        work = OneCall(caller, tokens, ask, parts)
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
            except (LimitReached, Unavailable):
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
        step = job_counts.current()
        step.calls += 1
        try:
            return self._traced(work)
        except BaseException as error:
            outcome, raised = self._blame(error, work)
            limits = error.limits if isinstance(error, Limited) else None
            refusal = None if outcome == "answered" else refusal_of(error, step, self._traced_as[0])
            self.account.report(grant, outcome, limits=limits, refusal=refusal)
            if raised is error:
                raise
            raise raised from error

    def _traced(self, work: Work[U]) -> ProviderResponse[U]:
        """Send a call as a part of the traces of those who ask, by OpenTelemetry's conventions for models."""
        operation, model = self._traced_as
        with span_below(
            work.traces(), f"{operation} {model}".strip(), "CLIENT", gen_ai__operation__name=operation,
            gen_ai__request__model=model, querymill__lane=work.lane,
        ) as begun:  # fmt: skip
            response = work.send(self._timeout_s)
            begun.set(gen_ai__usage__input_tokens=response.tokens)
            return response

    def _blame(self, error: BaseException, work: Work[Any]) -> tuple[CallOutcome, BaseException]:
        """Return what the account is told of a failed try, and the error that its caller gets."""
        match error:
            case NoResponse():
                return self._provider_or_text(error, work.lane)
            case Rejected():
                reason = f"{self._name} rejected: {error}"
                if error.of_content:
                    return "rejected", Unacceptable(reason, words=error.words)
                return "rejected", Refused(reason, code="provider_refused")
            case Misfit() if work.until() is None:
                return "answered", CallFailed(str(error))  # another model may have been loaded for a moment
            case Refused():
                return "answered", error if isinstance(error, Misfit) else Unacceptable(str(error))
            case _:
                return "limited" if isinstance(error, Limited) else "failed", error

    def _provider_or_text(self, error: NoResponse, lane: Lane) -> tuple[CallOutcome, BaseException]:
        match self._health(lane):
            case "well":
                return "rejected", Unanswerable(str(error), words=error.words)
            case "limited":
                return "cut", Limited(RateLimitHeaders())
            case _:
                return "failed", error

    def _health(self, lane: Lane) -> Health:
        """Make a harmless call in the place of one that has just failed. Return what that says of the provider."""
        try:
            return "unwell" if self._probe is None else self._probed(lane, self._probe)
        except Exception:  # noqa: BLE001  # whatever it is, it does not show that the provider is well
            return "unwell"

    def _probed(self, lane: Lane, probe: Callable[[float], object]) -> Health:
        grant = self._grant_beside(lane)
        try:
            probe(min(self._timeout_s, PROBE_TIMEOUT_S))
        except Limited as error:
            self.account.report(grant, "limited", limits=error.limits)
            return "limited"
        self.account.report(grant, "answered")
        return "well"

    def _grant_beside(self, lane: Lane) -> Grant:
        while True:
            until = self.clock() + PROBE_WAIT_S
            grant = self.account.reserve(lane=lane, tokens=PROBE_TOKENS, until=until, beside=True)
            if self.account.still_holds(grant):
                return grant

    def _back_off_or_give_up(self, work: Work[Any], tries: int, error: NoResponse, *, max_tries: int = TRIES) -> None:
        until, reason = work.until(), f"{self._name} unavailable: {worded(error)}"
        if tries >= max_tries:
            raise (Unavailable if until is None else Refused)(reason, code="provider_down") from error
        wait = _backoff_s(tries)
        if until is not None and self.clock() + wait >= until:
            raise Refused(reason, code="provider_down") from error
        time.sleep(wait)

    def _is_late(self, work: Work[Any]) -> bool:
        until = work.until()
        return until is not None and self.clock() >= until


def _backoff_s(tries: int) -> float:
    return BACKOFF_S[min(tries, len(BACKOFF_S)) - 1] * random.uniform(0.5, 1.5)  # noqa: S311  # jitter is no secret


def refusal_of(error: BaseException, step: job_counts.StepCounts, asked_for: str) -> Refusal:
    """Return what is kept of a call that the provider did not answer, with the provider's own code.

    It quotes no text of the caller. Calls of no step, as for texts of several jobs, are named by what was asked for.
    """
    match error:
        case Limited() | NoResponse():
            what = worded(error)
        case Rejected():
            code = code_in(error.body)
            what = str(error) if not code or code.lower() in str(error).lower() else f"{error} ({code})"
        case _:
            what = type(error).__name__
    return Refusal(what, step.step or asked_for, step.job_id)
