"""What the account asks of its scripts and reads from them; what the scripts decide is tested on a real server."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import ACCOUNTS, ADDRESSES, CallOutcome
from querymill_workers.inference import account as module
from querymill_workers.inference.account import Account, CircuitOpen, Grant, LimitReached, Paused, RateLimitHeaders
from tests.fakes.accounts import CountingFleetCounters

Script = Callable[..., Any]


class ScriptedRedis:
    """A server whose scripts return what a test tells them to, and whose accounts have an epoch."""

    def __init__(self, *decisions: list[bytes | int], reported: Sequence[bytes | int] = (0, b"no")) -> None:
        self.decisions = list(decisions)
        self.reported = list(reported)
        self.asked: list[list[Any]] = []
        self.epoch: bytes | None = None
        self.listed: dict[tuple[str, str], str] = {}

    def register_script(self, text: str) -> Script:
        decides = "Decide when one call may start" in text

        def run(*, keys: Sequence[str], args: Sequence[Any]) -> list[bytes | int]:
            assert len(keys) == 3
            self.asked.append(list(args))
            return self.decisions.pop(0) if decides else self.reported

        return run

    def hset(self, name: str, field: str, value: str) -> None:
        self.listed[name, field] = value

    def hget(self, _: str, field: str) -> bytes | None:
        assert field == "epoch"
        return self.epoch


def account(
    redis: ScriptedRedis, *, rpm: int | None = 600, tpm: int | None = None, key: str = "k", now: float = 100.0
) -> Account:
    return Account(
        redis,  # type: ignore[arg-type]  # of the client only these are used
        provider="http://p", key=key, model="m", requests_per_minute=rpm, tokens_per_minute=tpm,
        fleet_counters=CountingFleetCounters(), clock=lambda: now,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def counted(account: Account, name: str) -> float:
    assert isinstance(account.fleet_counters, CountingFleetCounters)
    return account.fleet_counters.of(name)


def test_one_provider_key_and_model_are_one_account_and_the_key_is_not_in_its_name() -> None:
    first, same, other = (account(ScriptedRedis(), key=key) for key in ("sk-secret", "sk-secret", "sk-other"))
    assert first.key == same.key != other.key
    assert "secret" not in first.key


@pytest.mark.parametrize(
    ("lane", "tpm", "tokens"),
    [
        (Lane.INTERACTIVE, 60_000, 1_200),
        (Lane.NORMAL, 60_000, 900),
        (Lane.BULK, 60_000, 600),
        (Lane.BULK, None, None),
    ],
)
def test_a_request_of_a_lower_lane_leaves_the_higher_ones_their_share(
    lane: Lane, tpm: int | None, tokens: int | None
) -> None:
    assert account(ScriptedRedis(), tpm=tpm).max_tokens(lane) == tokens


def test_a_grant_begins_after_its_wait_and_holds_the_epoch_it_was_given_in() -> None:
    redis = ScriptedRedis([b"granted", 1_500, b"7"])
    mine = account(redis)
    assert mine.reserve(lane=Lane.NORMAL, tokens=20, until=110.0) == Grant(Lane.NORMAL, 20, 101.5, "7")
    assert redis.asked[0][:6] == ["normal", 0.75, 0.2, 1, 20, 10_000]
    assert redis.listed == {(ACCOUNTS, mine.key): "m", (ADDRESSES, mine.key): "http://p"}
    assert (counted(mine, "budget_granted/normal"), counted(mine, "budget_waited_ms/normal")) == (1, 1_500)


def test_a_grant_that_was_long_on_the_way_begins_no_earlier_than_the_account_said() -> None:
    mine = account(ScriptedRedis([b"granted", 5_000, b"0"]))
    # The account decides when the question arrives, 8 s after it was sent: at 108 s it grants 113 s.
    mine._clock = iter((100.0, 108.0)).__next__
    assert mine.reserve(lane=Lane.INTERACTIVE, tokens=1, until=None).at == 113.0


@pytest.mark.parametrize(("until", "max_wait_ms"), [(None, -1), (100.25, 250), (100.0, 0), (50.0, 0)])
def test_a_call_waits_no_longer_than_its_deadline(until: float | None, max_wait_ms: int) -> None:
    redis = ScriptedRedis([b"granted", 0, b"0"])
    account(redis).reserve(lane=Lane.BULK, tokens=1, until=until)
    assert redis.asked[0][5] == max_wait_ms


def test_who_is_told_later_asks_again_and_is_counted_as_waiting(naps: list[float]) -> None:
    redis = ScriptedRedis([b"later", 300], [b"later", 5_000], [b"granted", 0, b"0"])
    mine = account(redis)
    mine.reserve(lane=Lane.BULK, tokens=1, until=None)
    assert len(redis.asked) == 3
    assert 0.3 <= naps[0] <= 0.34
    assert 1.0 <= naps[1] <= 1.11  # no longer than a second at a time
    assert counted(mine, "budget_waited_ms/bulk") == 5_300


def test_what_the_limit_allows_too_late_is_refused_with_when_it_would_be() -> None:
    mine = account(ScriptedRedis([b"refused", 2_500]))
    with pytest.raises(LimitReached, match=r"rate limit of m: .* \(next in 2\.5 s\)"):
        mine.reserve(lane=Lane.INTERACTIVE, tokens=1, until=101.0)
    assert counted(mine, "budget_refused/interactive") == 1


@pytest.mark.parametrize(
    ("until", "again_in_s"),
    [(200.0, 4.0), (None, 1.0)],  # without a deadline the step's own waits grow, and a probe may be answered at once
)
def test_an_open_breaker_turns_everybody_away_and_says_when_to_come_back(
    naps: list[float], until: float | None, again_in_s: float
) -> None:
    with pytest.raises(CircuitOpen, match=r"circuit open: m failed 5 times in a row; next call in 4\.0 s") as caught:
        account(ScriptedRedis([b"open", 4_000])).reserve(lane=Lane.BULK, tokens=1, until=until)
    assert (caught.value.again_in_s, caught.value.cause, naps) == (again_in_s, "outage", [])


def test_a_long_pause_turns_who_has_no_deadline_away_until_it_ends(naps: list[float]) -> None:
    redis = ScriptedRedis([b"paused", 90_000])
    with pytest.raises(Paused, match=r"m paused all calls; next call in 90\.0 s") as caught:
        account(redis).reserve(lane=Lane.BULK, tokens=1, until=None)
    assert (caught.value.again_in_s, caught.value.cause, caught.value.code, naps) == (90.0, "outage", "limit", [])
    assert redis.asked[0][-1] == 10_000


def test_a_grant_whose_time_has_come_is_not_looked_up_again() -> None:
    redis = ScriptedRedis()
    redis.epoch = b"9"
    assert account(redis).still_holds(Grant(Lane.BULK, 1, 100.0, "0"))


@pytest.mark.parametrize(("epoch", "holds"), [(b"7", True), (b"8", False), (None, False)])
def test_a_pause_while_a_call_waits_voids_its_grant(
    monkeypatch: pytest.MonkeyPatch, epoch: bytes | None, holds: bool
) -> None:
    redis, now = ScriptedRedis(), [100.0]
    redis.epoch = epoch
    mine = account(redis)
    monkeypatch.setattr(mine, "_clock", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    assert mine.still_holds(Grant(Lane.BULK, 1, 102.5, "7")) is holds
    # Looked up every second, so that a pause is noticed long before the grant.
    assert now[0] == (102.5 if holds else 100.0 + module.CHECK_EVERY_S)


@pytest.mark.parametrize(
    ("outcome", "used", "returned", "beyond"),
    [
        ("answered", 130, 0, 30),
        ("answered", 80, 0, -20),
        ("answered", None, 0, 0),
        ("cut", None, 0, 0),
        ("failed", None, 0, 0),
        ("limited", None, 0, 0),
        ("rejected", None, 0, -100),
        ("unused", None, 1, -100),
    ],
)
def test_each_outcome_gives_back_what_it_did_not_use(
    outcome: CallOutcome, used: int | None, returned: int, beyond: int
) -> None:
    redis = ScriptedRedis()
    mine = account(redis)
    mine.report(Grant(Lane.BULK, 100, 100.0, "0"), outcome, tokens=used)
    assert redis.asked[0][:3] == [outcome, returned, beyond]
    assert counted(mine, f"provider_calls/{outcome}") == 1
    assert counted(mine, "tokens_charged_after") == max(beyond, 0)
    assert counted(mine, "tokens_refunded") == max(-beyond, 0)


def test_headers_are_reported_in_milliseconds_and_missing_ones_as_such() -> None:
    redis = ScriptedRedis()
    mine = account(redis)
    grant = Grant(Lane.BULK, 1, 100.0, "0")
    mine.report(grant, "limited", limits=RateLimitHeaders(retry_after_s=1.5, requests_left=0, tokens_reset_s=0.25))
    mine.report(grant, "answered")
    assert [args[7:12] for args in redis.asked] == [[1_500, 0, -1, -1, 250], [-1, -1, -1, -1, -1]]


def test_pauses_and_openings_of_the_breaker_are_counted() -> None:
    mine = account(ScriptedRedis(reported=[500, b"open"]))
    mine.report(Grant(Lane.BULK, 1, 100.0, "0"), "failed")
    assert (counted(mine, "budget_pauses"), counted(mine, "breaker_opened")) == (1, 1)
