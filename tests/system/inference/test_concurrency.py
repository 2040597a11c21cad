"""Places on a real Valkey: how many calls may be under way without a limit, who gets the next, and whose come back."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.account import Account, Grant, LimitReached, Withdrawn
from querymill_workers.inference.concurrency import LEASE_MS
from querymill_workers.jobs.deadline import Caller
from tests.fakes.few_at_a_time import FewAtATime
from tests.fakes.openai_server import OpenAIServer
from tests.fixtures.inference import Provider

FIRST = 4


def go(
    account: Account, collection: str = "a", lane: Lane = Lane.INTERACTIVE, *, within_s: float = 30, tokens: int = 10
) -> Grant:  # fmt: skip
    return account.reserve(lane=lane, tokens=tokens, until=time.monotonic() + within_s, collection=collection)


def full(account: Account, collection: str = "a", lane: Lane = Lane.INTERACTIVE) -> bool:
    """Tell whether there is no place for such a call now."""
    try:
        account.report(go(account, collection, lane, within_s=0.1), "cut")
    except LimitReached:
        return True
    return False


def test_one_collection_takes_the_places_and_one_more_is_kept_for_a_question_of_another(provider: Provider) -> None:
    here, there = provider.account(), provider.account()
    held = [go(here) for _ in range(FIRST)]
    assert full(there)
    assert full(there, "b", Lane.BULK)
    kept = go(there, "b")
    assert full(here, "c"), "only one is kept"
    there.report(kept, "cut")
    here.report(held[0], "cut")
    go(there)


def test_a_bulk_kind_leaves_places_free_while_questions_are_about(provider: Provider) -> None:
    account = provider.account()
    held = [go(account, "b", Lane.BULK) for _ in range(FIRST)]
    assert full(account, "b", Lane.BULK)
    account.report(go(account, "a"), "cut")
    for grant in held:
        account.report(grant, "cut")
    for _ in range(FIRST // 2):
        go(account, "b", Lane.BULK)
    assert full(account, "b", Lane.BULK)


def test_the_places_of_a_dead_process_come_back(provider: Provider) -> None:
    dead, alive = provider.account(), provider.account()
    for _ in range(FIRST):
        dead._slots.leave(go(dead).call)  # as if nobody renewed them
    assert full(alive)
    started = time.monotonic()
    go(alive, within_s=60)
    assert time.monotonic() - started < LEASE_MS / 1000 + 15


def test_the_places_of_a_process_that_lives_stay_its_own(provider: Provider) -> None:
    here, there = provider.account(), provider.account()
    for _ in range(FIRST):
        go(here)
    time.sleep(LEASE_MS / 1000 + 1)
    assert full(there)


def test_a_call_that_nobody_wants_any_more_leaves_the_line(provider: Provider) -> None:
    account, left = provider.account(), threading.Event()
    for _ in range(FIRST):
        go(account)
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(
                account.reserve, lane=Lane.INTERACTIVE, tokens=1, until=None, collection="a", has_left=left.is_set
            )
            for _ in range(2)
        ]
        time.sleep(0.2)
        left.set()
        for one in waiting:
            with pytest.raises(Withdrawn):
                one.result(timeout=20)


def test_collections_take_turns_and_the_lower_lanes_get_a_little(provider: Provider) -> None:
    here, there = provider.account(), provider.account()
    given: list[tuple[str, str]] = []
    begun = time.monotonic()

    def is_on() -> bool:
        """Whether three seconds are not over, or a busy machine has not brought enough turns to count."""
        lasted_s = time.monotonic() - begun
        return lasted_s < 3 or (len(given) < 300 and lasted_s < 60)

    def work(account: Account, collection: str, lane: Lane) -> None:
        while is_on():
            grant = go(account, collection, lane)
            given.append((collection, lane.value))
            time.sleep(0.02)
            account.report(grant, "cut")

    hungry = [(here, "hog", Lane.INTERACTIVE)] * 12 + [(there, "shy", Lane.INTERACTIVE)] * 4
    hungry += [(there, "load", Lane.BULK)] * 4
    threads = [threading.Thread(target=work, args=one) for one in hungry]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = Counter(collection for collection, _ in given)
    assert counts["hog"] / counts["shy"] == pytest.approx(1, abs=0.35), counts
    assert 0 < counts["load"] / sum(counts.values()) < 0.2, counts


def test_failures_halve_the_places_and_the_fleet_begins_anew_after_an_outage(provider: Provider) -> None:
    account = provider.account()

    def places() -> float:
        return float(provider.client.hget(account.key, "places") or FIRST)

    together = [go(account) for _ in range(FIRST)]
    for grant in together:
        account.report(grant, "failed")
    assert places() == FIRST / 2, "those that were under way together are one failure"
    time.sleep(0.05)
    account.report(go(account), "failed")
    assert places() == 1
    time.sleep(1.1)  # the breaker is open
    account.report(go(account), "answered")
    assert places() >= FIRST


@pytest.mark.nightly  # by day: the next test
def test_the_places_settle_near_what_the_provider_does_at_a_time(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = server = FewAtATime(most=2, s_per_token=0.002, least_s=0.05)
    one = provider.embeddings(timeout_s=20)
    caller = Caller("c", Lane.NORMAL, time.monotonic() + 60)
    seen: list[int] = []
    with ThreadPoolExecutor(16) as pool:
        asked = [
            pool.submit(one.embed, [f"{number} " + "word " * 70], input_type="query", caller=caller)
            for number in range(120)
        ]
        while not all(future.done() for future in asked):
            seen.append(server.inside)
            time.sleep(0.02)
    late = seen[len(seen) // 3 : -10]
    assert 1.2 <= sum(late) / len(late) <= 6, seen
    assert max(late) <= 8, "sixteen ask all the time"


def test_the_places_grow_where_the_provider_keeps_up(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.embeddings = server = FewAtATime(most=64, s_per_token=0.0, least_s=0.1)
    fleet = [provider.embeddings() for _ in range(3)]
    caller = Caller("c", Lane.NORMAL, time.monotonic() + 60)
    with ThreadPoolExecutor(48) as pool:
        # More texts than a request holds, so that requests are many.
        list(
            pool.map(
                lambda n: fleet[n % 3].embed(
                    [f"{n} {m} " + "w " * 99 for m in range(16)], input_type="query", caller=caller
                ),
                range(192),
            )
        )
    assert server.most_inside > FIRST + 1
