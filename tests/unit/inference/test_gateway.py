"""A call's way to a provider with a scripted account: what is tried again, what is given up, what is reported."""

import threading
import time
from collections.abc import Callable

import pytest

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference import gateway as module
from querymill_workers.inference.account import CircuitOpen, LimitReached, Paused, RateLimitHeaders
from querymill_workers.inference.client import Limited, NoResponse, ProviderResponse, Rejected, TimedOut
from querymill_workers.inference.gateway import MAX_LIMITED, Gateway
from querymill_workers.inference.work import CutShort, Misfit, OneCall, Unacceptable
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import CallFailed, Refused, Unavailable
from tests.fakes.accounts import ScriptedAccount
from tests.fakes.jobs import Clock

NO_DEADLINE = Caller("c", Lane.NORMAL)
LIMITS = RateLimitHeaders(retry_after_s=1.5)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKOFF_S", (0.0, 0.0))


def in_time(seconds: float = 60.0) -> Caller:
    return Caller("c", Lane.INTERACTIVE, time.monotonic() + seconds)


def gateway(
    account: ScriptedAccount, timeout_s: float = 20.0, clock: Callable[[], float] = time.monotonic
) -> Gateway[str]:
    return Gateway(account, "model", timeout_s=timeout_s, clock=clock)


def hasty(clock: Clock) -> Caller:
    """Return a caller that waits a moment, which is over only when a test moves the clock: the call is made in time."""
    return Caller("c", Lane.INTERACTIVE, clock.now + 0.05)


def replies(*script: Exception | ProviderResponse[str]) -> Callable[[float], ProviderResponse[str]]:
    """Give the script entry by entry, and the last one for ever."""
    left = list(script)

    def ask(timeout_s: float) -> ProviderResponse[str]:  # the port's signature
        entry = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(entry, Exception):
            raise entry
        return entry

    return ask


FINE = ProviderResponse("yes", 7, LIMITS)


def test_a_response_is_reported_with_its_tokens_and_its_limits() -> None:
    account = ScriptedAccount()
    assert gateway(account).call_once(in_time(), 10, replies(FINE)) is FINE
    assert account.reserved == [(1, 10)]
    assert account.reported == [("answered", 10, 7)]
    assert account.limits == [LIMITS]


def test_what_may_pass_is_tried_three_times_each_with_a_grant_of_its_own() -> None:
    account = ScriptedAccount()
    assert gateway(account).call_once(in_time(), 10, replies(NoResponse("HTTP 503"), TimedOut(), FINE)) is FINE
    assert account.outcomes == ["failed", "failed", "answered"]
    assert len(account.reserved) == 3


@pytest.mark.parametrize(("caller", "kind"), [(NO_DEADLINE, Unavailable), (None, Refused)])
def test_after_three_tries_only_a_caller_without_a_deadline_may_come_back(
    caller: Caller | None, kind: type[Exception]
) -> None:
    account = ScriptedAccount()
    with pytest.raises(kind, match=r"^model unavailable: HTTP 503$"):
        gateway(account).call_once(caller or in_time(), 10, replies(NoResponse("HTTP 503")))
    assert account.outcomes == ["failed"] * 3


def test_a_wait_beyond_the_deadline_is_not_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKOFF_S", (100.0, 100.0))
    account = ScriptedAccount()
    with pytest.raises(Refused, match="model unavailable: HTTP 503"):
        gateway(account).call_once(in_time(30), 10, replies(NoResponse("HTTP 503")))
    assert account.outcomes == ["failed"]


def test_what_is_rejected_is_not_tried_again_and_costs_no_tokens_of_its_own() -> None:
    account = ScriptedAccount()
    with pytest.raises(Refused, match="model rejected: HTTP 400"):
        gateway(account).call_once(NO_DEADLINE, 10, replies(Rejected("HTTP 400")))
    assert account.outcomes == ["rejected"]


def test_a_response_that_must_not_be_used_is_charged_and_not_tried_again() -> None:
    account = ScriptedAccount()
    with pytest.raises(Refused, match="empty reply"):
        gateway(account).call_once(NO_DEADLINE, 10, replies(Refused("empty reply")))
    assert account.outcomes == ["answered"]


def test_rate_limits_are_no_tries() -> None:
    account = ScriptedAccount()
    script = [Limited(LIMITS)] * 20
    assert gateway(account).call_once(in_time(), 10, replies(*script, FINE)) is FINE
    assert account.outcomes == ["limited"] * 20 + ["answered"]
    assert account.limits[0] == LIMITS


def test_a_caller_without_a_deadline_gives_up_after_many_rate_limits() -> None:
    account = ScriptedAccount()
    with pytest.raises(Unavailable, match="model: HTTP 429 on 10 attempts"):
        gateway(account).call_once(NO_DEADLINE, 10, replies(Limited(LIMITS)))
    assert account.outcomes == ["limited"] * MAX_LIMITED


def until(condition: Callable[[], object]) -> None:
    """Wait for what a call does after its caller has left."""
    stop = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < stop
        time.sleep(0.005)


def test_every_call_gets_all_the_time_a_provider_may_take() -> None:
    given: list[float] = []

    def ask(timeout_s: float) -> ProviderResponse[str]:
        given.append(timeout_s)
        return FINE

    for caller in (in_time(3), NO_DEADLINE):
        gateway(ScriptedAccount(), timeout_s=20).call_once(caller, 10, ask)
    assert given == [20, 20]


def test_a_call_that_could_not_be_made_in_time_is_not_made() -> None:
    account = ScriptedAccount()
    with pytest.raises(Refused):
        gateway(account).call_once(in_time(-1), 10, replies(AssertionError("it was made")))
    until(lambda: account.outcomes == ["unused"])


def test_a_reply_too_late_for_its_caller_still_comes_and_counts_as_answered() -> None:
    account, clock, said = ScriptedAccount(), Clock(), threading.Event()

    def ask(timeout_s: float) -> ProviderResponse[str]:
        assert said.wait(10)
        return FINE

    with pytest.raises(CutShort, match="model unavailable: no response in time") as caught:
        gateway(account, clock=clock).call_once(hasty(clock), 10, ask)
    assert account.outcomes == []
    said.set()
    assert caught.value.reply.result(10) is FINE
    until(lambda: account.outcomes == ["answered"])


def test_a_provider_that_is_silent_for_all_its_time_has_failed_although_its_caller_left() -> None:
    account, clock, time_is_up = ScriptedAccount(), Clock(), threading.Event()

    def silent(timeout_s: float) -> ProviderResponse[str]:
        assert time_is_up.wait(10)
        raise TimedOut

    with pytest.raises(CutShort):
        gateway(account, clock=clock).call_once(hasty(clock), 10, silent)
    assert account.outcomes == []
    clock.now += 20
    time_is_up.set()
    until(lambda: account.outcomes == ["failed"])
    time.sleep(0.05)
    assert len(account.reserved) == 1, "nobody waits for another try"


def test_a_grant_that_a_pause_made_void_is_asked_for_again() -> None:
    account = ScriptedAccount(void=2)
    gateway(account).call_once(in_time(), 10, replies(FINE))
    assert (len(account.reserved), account.outcomes) == (3, ["answered"])


class Probe:
    """A harmless call, answered as the script says, and at last for ever like its last entry."""

    def __init__(self, *script: Exception | None) -> None:
        self.asked = 0
        self._left = list(script)

    def __call__(self, timeout_s: float) -> None:
        self.asked += 1
        entry = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        if entry is not None:
            raise entry


def probing(account: ScriptedAccount, probe: Probe) -> Gateway[str]:
    return Gateway(account, "model", timeout_s=20.0, probe=probe)


ILL = NoResponse("HTTP 500", words="NaN")


@pytest.mark.parametrize(("caller", "tries", "probes"), [(NO_DEADLINE, 4, 7), (None, 3, 4)])
def test_a_call_that_fails_beside_answered_ones_is_given_up_and_nobody_else_is(
    caller: Caller | None, tries: int, probes: int
) -> None:
    account, probe = ScriptedAccount(), Probe(None)
    with pytest.raises(Unacceptable, match=r"^model rejected: HTTP 500$") as caught:
        probing(account, probe).call_once(caller or in_time(), 10, replies(ILL))
    assert caught.value.words == "NaN"
    assert (account.outcomes.count("rejected"), account.outcomes.count("answered")) == (tries, probes)
    assert set(account.outcomes) == {"rejected", "answered"}
    assert probe.asked == probes


def test_a_call_of_several_texts_is_halved_after_its_first_failure() -> None:
    account = ScriptedAccount()
    with pytest.raises(Unacceptable):
        probing(account, Probe(None)).call_once(NO_DEADLINE, 10, replies(ILL), parts=2)
    assert account.outcomes == ["answered", "rejected"]


@pytest.mark.parametrize(
    "unwell", [NoResponse("HTTP 500"), TimedOut(), Rejected("HTTP 401"), Refused("NaN"), OSError()]
)
def test_where_a_harmless_call_fails_too_it_is_an_outage(unwell: Exception) -> None:
    account = ScriptedAccount()
    with pytest.raises(Unavailable, match="model unavailable: HTTP 500"):
        probing(account, Probe(unwell)).call_once(NO_DEADLINE, 10, replies(ILL))
    assert account.outcomes == ["failed"] * 3


@pytest.mark.parametrize("at", range(7))
def test_one_harmless_call_that_fails_is_enough_to_give_no_text_up(at: int) -> None:
    probe = Probe(*[None] * at, NoResponse("HTTP 500"), None)
    with pytest.raises(Unavailable):
        probing(ScriptedAccount(), probe).call_once(NO_DEADLINE, 10, replies(ILL))


def test_failures_of_several_kinds_give_no_text_up() -> None:
    others = [NoResponse("HTTP 500"), NoResponse("no connection"), NoResponse("HTTP 500"), TimedOut()]
    with pytest.raises(Unavailable):
        probing(ScriptedAccount(), Probe(None)).call_once(NO_DEADLINE, 10, replies(*others))


def test_a_harmless_call_that_is_limited_pauses_all_and_says_nothing_of_the_text() -> None:
    account = ScriptedAccount()
    assert probing(account, Probe(Limited(LIMITS), None)).call_once(NO_DEADLINE, 10, replies(ILL, FINE)) is FINE
    assert account.outcomes == ["limited", "cut", "answered"]


def test_whatever_a_call_raises_its_place_is_given_back() -> None:
    account = ScriptedAccount()
    with pytest.raises(ZeroDivisionError):
        gateway(account).call_once(NO_DEADLINE, 10, replies(ZeroDivisionError()))
    assert account.outcomes == ["failed"]


@pytest.mark.parametrize(("caller", "kind"), [(NO_DEADLINE, CallFailed), (None, Misfit)])
def test_another_model_may_be_gone_at_the_next_attempt_of_a_caller_without_a_deadline(
    caller: Caller | None, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="2 dimensions"):
        gateway(ScriptedAccount()).call_once(caller or in_time(), 10, replies(Misfit("2 dimensions")))


@pytest.mark.parametrize(("probe", "outcomes"), [(None, ["answered", "cut"]), (TimedOut(), ["failed"])])
def test_a_reply_that_breaks_off_counts_against_a_provider_that_is_unwell(
    probe: Exception | None, outcomes: list[str]
) -> None:
    account = ScriptedAccount()
    begun = ProviderResponse(Parts("a", NoResponse("no connection")), None, LIMITS)
    with pytest.raises(CallFailed, match="broke off"):
        Gateway[str](account, "model", timeout_s=1, probe=Probe(probe)).listen(
            in_time(), 10, lambda _: begun, lambda _: True
        )
    assert account.outcomes == outcomes


class Growing(OneCall[str]):
    """Work that has grown while it waited, or shrunk to nothing."""

    def __init__(self, sealed: int | None) -> None:
        super().__init__(in_time(), 10, replies(FINE))
        object.__setattr__(self, "sealed", sealed)

    def seal(self) -> int | None:  # type: ignore[override]  # nothing may be left
        return self.sealed  # type: ignore[attr-defined,no-any-return]


def test_work_that_grew_reserves_the_rest_without_another_request() -> None:
    account = ScriptedAccount()
    assert gateway(account).call(Growing(25)) is FINE
    assert account.reserved == [(1, 10), (0, 15)]
    assert account.reported == [("answered", 25, 7)]


def test_work_that_shrank_keeps_its_grant() -> None:
    account = ScriptedAccount()
    gateway(account).call(Growing(4))
    assert (account.reserved, account.reported) == ([(1, 10)], [("answered", 10, 7)])


def test_work_that_shrank_to_nothing_gives_its_grant_back() -> None:
    account = ScriptedAccount()
    assert gateway(account).call(Growing(None)) is None
    assert account.outcomes == ["unused"]


@pytest.mark.parametrize("refusal", [LimitReached("too late"), CircuitOpen("open"), Paused("paused")])
def test_work_that_grew_and_may_not_reserve_the_rest_gives_its_grant_back(refusal: Exception) -> None:
    account = ScriptedAccount(refuse_after=1, refusal=refusal)
    with pytest.raises(type(refusal)):
        gateway(account).call(Growing(25))
    assert account.outcomes == ["unused"]


class Parts:
    """A reply in parts: texts, or what breaks it off."""

    def __init__(self, *parts: str | Exception, tokens: int | None = 12, fault: str = "") -> None:
        self._parts = list(parts)
        self.fault = fault
        self.tokens = tokens
        self.closed = 0

    def next(self) -> str | None:
        if not self._parts:
            return None
        part = self._parts.pop(0)
        if isinstance(part, Exception):
            raise part
        return part

    def close(self) -> None:
        self.closed += 1


class Ear:
    """Hears parts until it has heard enough."""

    def __init__(self, enough: int = 100) -> None:
        self.parts: list[str] = []
        self._enough = enough

    def __call__(self, part: str) -> bool:
        self.parts.append(part)
        return len(self.parts) < self._enough


def listen(account: ScriptedAccount, reply: Parts, hear: Callable[[str], bool]) -> Parts:
    begun = ProviderResponse(reply, None, LIMITS)
    return gateway(account).listen(in_time(), 10, lambda _: begun, hear)


def test_a_reply_is_heard_to_its_end_then_charged_as_the_provider_says() -> None:
    account, ear = ScriptedAccount(), Ear()
    reply = listen(account, Parts("nine", " ships"), ear)
    assert ear.parts == ["nine", " ships"]
    assert (account.reported, reply.closed) == ([("answered", 10, 12)], 1)


def test_a_reply_that_nobody_hears_any_more_is_left() -> None:
    account, ear = ScriptedAccount(), Ear(enough=2)
    reply = Parts("a", "b", "c", tokens=None)
    listen(account, reply, ear)
    assert (ear.parts, reply.closed, account.reported) == (["a", "b"], 1, [("answered", 10, None)])


def test_a_reply_that_breaks_off_is_not_begun_again() -> None:
    account, ear = ScriptedAccount(), Ear()
    reply = Parts("a", NoResponse("no connection"))
    with pytest.raises(Unavailable, match="model: the reply broke off: no connection"):
        listen(account, reply, ear)
    assert (ear.parts, reply.closed, account.outcomes) == (["a"], 1, ["failed"])


@pytest.mark.parametrize(("probe", "outcomes"), [(None, ["answered", "cut"]), (TimedOut(), ["failed"])])
def test_a_reply_that_ends_in_an_error_is_kept_and_held_against_a_provider_that_is_not_well(
    probe: Exception | None, outcomes: list[str]
) -> None:
    account, ear = ScriptedAccount(), Ear()
    begun = ProviderResponse(Parts("a", "b", fault="HTTP 502"), None, LIMITS)
    reply = probing(account, Probe(probe)).listen(in_time(), 10, lambda _: begun, ear)
    assert (ear.parts, reply.closed, account.outcomes) == (["a", "b"], 1, outcomes)


def test_a_reply_beyond_the_deadline_is_cut_and_not_held_against_the_provider() -> None:
    account, ear, said, silent = ScriptedAccount(), Ear(), threading.Event(), threading.Event()
    listener, now = threading.current_thread(), time.monotonic()

    class Slow(Parts):
        def next(self) -> str | None:
            part = super().next()
            if part == "b":
                silent.set()
                assert said.wait(10)
            return part

    def clock() -> float:
        # The caller looks at the clock once: when it begins to wait, and here "a" has come by then.
        assert threading.current_thread() is not listener or silent.wait(10)
        return now

    reply = Slow("a", "b", "c")
    begun = ProviderResponse(reply, None, LIMITS)
    with pytest.raises(CutShort, match="cut by the deadline"):
        gateway(account, clock=clock).listen(hasty(Clock(now)), 10, lambda _: begun, ear)
    said.set()
    until(lambda: account.outcomes == ["cut"])
    assert (ear.parts, reply.closed) == (["a"], 1), "a caller that has left hears nothing"


def test_the_beginning_of_a_reply_is_tried_again() -> None:
    account = ScriptedAccount()
    begun: list[Exception | Parts] = [NoResponse("HTTP 503"), Parts("a")]

    def begin(_: float) -> ProviderResponse[Parts]:
        first = begun.pop(0)
        if isinstance(first, Exception):
            raise first
        return ProviderResponse(first, None, LIMITS)

    gateway(account).listen(in_time(), 10, begin, lambda _: True)
    assert account.outcomes == ["failed", "answered"]
