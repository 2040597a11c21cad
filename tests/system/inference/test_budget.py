"""The fleet's account on a real Valkey: what it grants, to whom first, and when it says no."""

import functools
import multiprocessing
import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Queue
from multiprocessing.synchronize import Barrier

import pytest
import redis

from querymill_shared import counters
from querymill_shared.contracts.fields import Lane
from querymill_workers.inference import account as module
from querymill_workers.inference.account import Account, CircuitOpen, Grant, LimitReached, Paused, RateLimitHeaders
from tests.fixtures.inference import Provider


def go(account: Account, lane: Lane = Lane.INTERACTIVE, *, tokens: int = 0, within_s: float | None = 60) -> Grant:
    until = None if within_s is None else time.monotonic() + within_s
    return account.reserve(lane=lane, tokens=tokens, until=until)


def undisturbed(within_s: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test again that failed when it took longer than that.

    What is granted depends on the clock of the server, which goes on while the machine does something else.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(provider: Provider) -> None:
            for _ in range(10):
                begun = time.monotonic()
                try:
                    return test(provider)
                except (Exception, pytest.fail.Exception):
                    if time.monotonic() - begun < within_s:
                        raise
                    provider.client.flushdb()
            return test(provider)

        return run

    return decorate


def waits(account: Account, count: int, *, tokens: int = 0) -> list[float]:
    return [round(go(account, tokens=tokens).at - time.monotonic(), 2) for _ in range(count)]


@undisturbed(within_s=0.02)
def test_a_small_burst_then_one_call_each_interval(provider: Provider) -> None:
    assert waits(provider.account(rpm=600), 6) == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3], abs=0.03)


def test_without_a_limit_nobody_waits(provider: Provider) -> None:
    account = provider.account()
    for _ in range(50):
        grant = go(account)
        assert grant.at <= time.monotonic()
        account.report(grant, "answered")


@undisturbed(within_s=0.03)
def test_tokens_are_reserved_like_requests(provider: Provider) -> None:
    # 2 % of 60,000 at once: 1,200; then 980 a second.
    assert waits(provider.account(tpm=60_000), 4, tokens=600) == pytest.approx([0, 0, 0.61, 1.23], abs=0.04)


@undisturbed(within_s=0.08)
def test_what_is_larger_than_the_burst_waits_for_a_full_bucket_and_pays_the_excess_twice(provider: Provider) -> None:
    account = provider.account(tpm=60_000)
    assert waits(account, 2, tokens=3_000) == pytest.approx([0, (2 * 3_000 - 1_200) / 976], abs=0.1)


@undisturbed(within_s=0.08)
def test_what_cannot_be_granted_in_time_is_refused_at_once_and_costs_nothing(provider: Provider) -> None:
    account = provider.account(rpm=60)
    go(account)
    started = time.monotonic()
    for _ in range(5):
        with pytest.raises(LimitReached, match=r"no call can start before the deadline \(next in 1\.0 s\)"):
            go(account, within_s=0.5)
    assert time.monotonic() - started < 0.4
    assert waits(account, 1) == pytest.approx([1.0], abs=0.1)


@undisturbed(within_s=0.02)
def test_a_refund_lets_the_next_call_go_earlier_and_a_charge_later(provider: Provider) -> None:
    account = provider.account(tpm=60_000)
    grant = go(account, tokens=1_200)
    account.report(grant, "answered", tokens=600)
    assert waits(account, 1, tokens=600) == pytest.approx([0], abs=0.03)
    account.report(grant, "answered", tokens=1_800)
    assert waits(account, 1, tokens=600) == pytest.approx([1.23], abs=0.06)


@undisturbed(within_s=0.02)
def test_a_grant_that_is_not_used_is_given_back(provider: Provider) -> None:
    account = provider.account(rpm=60)
    account.report(go(account), "unused")
    assert waits(account, 1) == pytest.approx([0], abs=0.03)


@undisturbed(within_s=0.6)
def test_a_429_pauses_every_worker_and_voids_what_was_granted(provider: Provider) -> None:
    here, there = provider.account(rpm=600), provider.account(rpm=600)
    first = go(here)
    later = [go(there) for _ in range(8)][-1]
    here.report(first, "limited", limits=RateLimitHeaders(retry_after_s=1.5))
    assert not there.still_holds(later)
    again = go(there)
    assert again.at - time.monotonic() == pytest.approx(1.5 - 0.5, abs=0.55)
    assert go(there).at - again.at == pytest.approx(0.1, abs=0.02), "no burst after a pause"


def server_ms(provider: Provider) -> float:
    seconds, microseconds = provider.client.time()
    return float(seconds * 1000 + microseconds / 1000)


def test_a_429_that_names_no_time_pauses_longer_each_time(provider: Provider) -> None:
    account = provider.account()
    for seconds in (1, 2, 4):
        grant = Grant(Lane.INTERACTIVE, 0, time.monotonic(), "0")
        before = server_ms(provider)
        account.report(grant, "limited", limits=RateLimitHeaders())
        after = server_ms(provider)
        paused_until = float(provider.client.hget(account.key, "paused_until") or 0)
        assert before + seconds * 1000 - 1 <= paused_until <= after + seconds * 1000 + 1
        grant = go(account)
        assert server_ms(provider) >= paused_until
        account.report(grant, "cut")


@undisturbed(within_s=0.02)
def test_headers_that_tell_of_fewer_calls_than_we_count_empty_the_bucket(provider: Provider) -> None:
    account = provider.account(rpm=600)
    account.report(go(account), "answered", limits=RateLimitHeaders(requests_left=1, requests_reset_s=0.1))
    assert waits(account, 2) == pytest.approx([0, 0.1], abs=0.03)
    account.report(go(account), "answered", limits=RateLimitHeaders(requests_left=0, requests_reset_s=3.0))
    assert waits(account, 1) == pytest.approx([3.0], abs=0.15)


@undisturbed(within_s=2.5)
def test_interactive_goes_before_bulk_that_waits(provider: Provider) -> None:
    account = provider.account(rpm=600)
    order: list[str] = []

    def one(lane: Lane) -> None:
        account.still_holds(go(account, lane, within_s=None))
        order.append(lane.value)

    with ThreadPoolExecutor(30) as pool:
        bulk = [pool.submit(one, Lane.BULK) for _ in range(12)]
        time.sleep(0.35)
        done_before = len(order)
        interactive = [pool.submit(one, Lane.INTERACTIVE) for _ in range(8)]
        for future in interactive:
            future.result(timeout=30)
        overtaken = order[done_before:].count("interactive")
        last = len(order) - 1 - order[::-1].index("interactive")
        assert overtaken == 8
        assert order[done_before : last + 1].count("bulk") <= 3, order
        for future in bulk:
            future.result(timeout=30)


def test_bulk_keeps_a_floor_when_interactive_takes_everything(provider: Provider) -> None:
    account, stop = provider.account(rpm=6_000), time.monotonic() + 4
    counts = {Lane.INTERACTIVE: 0, Lane.BULK: 0}

    def work(lane: Lane) -> None:
        while time.monotonic() < stop:
            account.still_holds(go(account, lane, within_s=None))
            counts[lane] += 1

    threads = [threading.Thread(target=work, args=(lane,)) for lane in (*[Lane.INTERACTIVE] * 12, *[Lane.BULK] * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    share = counts[Lane.BULK] / sum(counts.values())
    assert 0.02 <= share <= 0.12, counts


def test_the_breaker_opens_probes_and_closes(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COOLDOWN_MS", 10_000)
    here, there = provider.account(), provider.account()
    for _ in range(5):
        here.report(go(here), "failed")
    with pytest.raises(CircuitOpen, match="failed 5 times in a row"):
        go(there)
    provider.cool_down()
    probe = go(there)
    with pytest.raises(CircuitOpen):
        go(here)  # one probes, the others wait for what it finds
    there.report(probe, "failed")
    with pytest.raises(CircuitOpen, match=r"next call in (1[0-9]|20)\."):
        go(here)
    provider.cool_down()
    here.report(go(here), "answered")
    assert go(there).at <= time.monotonic()


def test_a_call_cut_by_its_callers_time_counts_neither_for_the_provider_nor_against_it(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COOLDOWN_MS", 10_000)
    account = provider.account()
    for outcome in ("cut", "cut", "cut", "cut", "cut", "failed", "failed", "failed", "failed", "cut"):
        account.report(go(account), outcome)
    account.report(go(account), "failed")
    with pytest.raises(CircuitOpen, match="failed 5 times in a row"):
        go(account)


def test_a_probe_cut_by_its_callers_time_lets_another_probe(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COOLDOWN_MS", 10_000)
    account = provider.account()
    for _ in range(5):
        account.report(go(account), "failed")
    provider.cool_down()
    account.report(go(account), "cut")
    probe = go(account)
    with pytest.raises(CircuitOpen):
        go(account)
    account.report(probe, "answered")
    assert go(account).at <= time.monotonic()


def test_an_open_breaker_turns_who_has_no_deadline_away_and_lets_one_probe_after_it(provider: Provider) -> None:
    account = provider.account()
    for _ in range(5):
        account.report(go(account), "failed")
    with pytest.raises(CircuitOpen):
        go(account, Lane.BULK, within_s=None)
    provider.cool_down()
    account.report(go(account, Lane.BULK, within_s=None), "answered")
    assert go(account).at <= time.monotonic()


@pytest.mark.parametrize("rpm", [None, 600], ids=["places", "a limit"])
@pytest.mark.parametrize("lane", Lane)
def test_who_has_no_deadline_waits_out_a_short_pause_and_no_long_one(
    provider: Provider, rpm: int | None, lane: Lane
) -> None:
    account = provider.account(rpm=rpm)
    account.report(go(account), "limited", limits=RateLimitHeaders(retry_after_s=0.3))
    begun = time.monotonic()
    grant = go(account, lane, within_s=None)
    assert account.still_holds(grant)
    assert 0.2 < time.monotonic() - begun < 5
    account.report(grant, "limited", limits=RateLimitHeaders(retry_after_s=60.0))
    with pytest.raises(Paused, match=r"paused all calls; next call in (59|60)\."):
        go(account, lane, within_s=None)


def test_a_rejected_call_says_nothing_against_the_provider(provider: Provider) -> None:
    account = provider.account()
    for _ in range(10):
        account.report(go(account), "rejected")
    assert go(account).at <= time.monotonic()


@undisturbed(within_s=0.02)
def test_accounts_of_different_keys_and_models_do_not_share(provider: Provider) -> None:
    one, other = provider.account(rpm=60), provider.account(rpm=60, model="other")
    go(one)
    assert waits(other, 1) == pytest.approx([0], abs=0.03)


#: In a minute, and at once.
LIMIT, BURST = 1_200, 6


def _hammer(url: str, ready: Barrier, times: "Queue[list[float]]", seconds: float) -> None:
    with redis.Redis.from_url(url) as client:
        account = Account(
            client, provider="p", key="k", model="m", requests_per_minute=LIMIT, tokens_per_minute=None,
            fleet_counters=counters.FleetCounters(None),
        )  # fmt: skip
        granted: list[float] = []
        ready.wait()
        stop = time.monotonic() + seconds

        def work() -> None:
            while time.monotonic() < stop:
                grant = account.reserve(lane=Lane.INTERACTIVE, tokens=0, until=None)
                account.still_holds(grant)
                granted.append(grant.at)  # not when this thread woke up, which may be later

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times.put(granted)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("window_s", "most"),
    [(5, LIMIT * 5 / 60 + BURST), (60, LIMIT)],
    ids=["seconds", "a minute"],
)
@pytest.mark.nightly  # by day: a budget is not exceeded, in tests/simulation
def test_four_processes_hammering_one_budget_let_through_the_limit_and_never_more(
    valkey_url: str, provider: Provider, window_s: int, most: float
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ready, answers = context.Barrier(4), context.Queue()
    processes = [context.Process(target=_hammer, args=(valkey_url, ready, answers, window_s + 2)) for _ in range(4)]
    for process in processes:
        process.start()
    times = sorted(moment for _ in processes for moment in answers.get(timeout=250))
    for process in processes:
        process.join()
    in_any_window = max(bisect_left(times, moment + window_s) - at for at, moment in enumerate(times))
    assert 0.99 * LIMIT * window_s / 60 <= in_any_window <= most


def test_a_collection_that_asks_for_much_does_not_put_off_the_others(provider: Provider) -> None:
    account, granted = provider.account(rpm=600), list[tuple[float, str]]()

    def ask(collection: str) -> None:
        grant = account.reserve(lane=Lane.INTERACTIVE, tokens=0, until=None, collection=collection)
        granted.append((grant.at, collection))

    with ThreadPoolExecutor(60) as pool:
        hog = [pool.submit(ask, "hog") for _ in range(50)]
        while len(granted) < 10:
            time.sleep(0.005)
        shy = [pool.submit(ask, "shy") for _ in range(5)]
        for asked in (*hog, *shy):
            asked.result(timeout=60)
    order = [collection for _, collection in sorted(granted)]
    assert len(order) == 55
    last = len(order) - order[::-1].index("shy")
    assert last <= 35, "they take turns; first come, first served, the last would be the 55th"
