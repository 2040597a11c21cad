"""Budgets of API keys on a real Valkey: what they let pass, in a race, on another day, on a board that was wiped."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal

import pytest
import redis

from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.costs import ModelPrice
from querymill_shared.contracts.fields import Lane
from querymill_shared.costs import BUDGETS, DAY_MS, Budget, read_budgets, read_sums
from querymill_shared.settings import Settings
from querymill_workers.inference.ledger import BudgetUsedUp, Ledger, Tariff
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from tests.fixtures.boards import let_pass
from tests.fixtures.inference import Provider

#: One token costs 1,000 nanos.
PRICE = ModelPrice(input=Decimal(1), output=Decimal(1))
KEY = "0123456789ab"


def caller(owner: str = KEY, labels: Mapping[str, str] | None = None, *, durable: bool = False) -> Caller:
    until = None if durable else time.monotonic() + 30
    return Caller("filings", Lane.NORMAL, until, owner=owner, labels=labels or {})


def ledger_of(provider: Provider, budget: int | None = 100_000) -> Ledger:
    provider.prices["words"] = PRICE
    if budget is not None:
        provider.client.hset(BUDGETS, KEY, str(budget))
    return provider.ledger()


def spend(ledger: Ledger, who: Caller, tokens: int, *, estimated: int | None = None) -> None:
    with ledger.billing(who, "words", tokens if estimated is None else estimated) as bill:
        bill.add(tokens)


def budget_in(client: redis.Redis) -> Budget:
    (budget,) = read_budgets(client)
    return budget


def test_what_can_be_done_without_is_refused_at_80_percent_and_all_else_at_the_end(provider: Provider) -> None:
    ledger = ledger_of(provider)
    spend(ledger, caller(), 79)
    spend(ledger, caller().for_extras(), 1)
    with pytest.raises(Refused, match=r"has spent USD 0.00008 of USD 0.0001 today, and the rest is kept") as refused:
        spend(ledger, caller().for_extras(), 1)
    assert refused.value.code == "budget"
    assert budget_in(provider.client).allows == "essentials"
    spend(ledger, caller(), 20)
    with pytest.raises(Refused, match=r"that of the API key is used up \(USD 0.0001 of USD 0.0001 today\)") as refused:
        spend(ledger, caller(), 1)
    assert refused.value.code == "budget"
    assert budget_in(provider.client).allows == "nothing"
    spend(ledger, caller("ba9876543210"), 1_000)
    spend(ledger, caller(""), 1_000)


def test_who_has_time_waits_for_another_day(provider: Provider) -> None:
    ledger = ledger_of(provider)
    spend(ledger, caller(), 100)
    with pytest.raises(BudgetUsedUp) as waits:
        spend(ledger, caller(durable=True), 1)
    assert 0 < waits.value.again_in_s <= 600
    assert (waits.value.cause, waits.value.code) == ("pause", "budget")


def test_calls_at_the_same_time_exceed_a_budget_by_no_more_than_one(provider: Provider) -> None:
    ledger = ledger_of(provider)
    together, made = threading.Barrier(16), []

    def race(number: int) -> None:
        together.wait()
        for _ in range(20):
            with suppress(Refused):
                spend(ledger, caller(), 7)
                made.append(number)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(race, range(16)))
    assert 100_000 <= budget_in(provider.client).spent < 100_000 + 7_000
    assert len(made) * 7_000 == budget_in(provider.client).spent


def test_what_is_held_for_calls_under_way_counts_and_is_given_back(provider: Provider) -> None:
    ledger = ledger_of(provider)
    with ledger.billing(caller(), "words", 100) as bill:
        with pytest.raises(Refused):
            spend(ledger, caller(), 1)
        assert budget_in(provider.client).spent == 0
        bill.add(30)
    with pytest.raises(RuntimeError), ledger.billing(caller(), "words", 50):
        raise RuntimeError("the provider failed")
    assert budget_in(provider.client).spent == 30_000
    spend(ledger, caller(), 50)


def test_a_budget_holds_at_once_and_counts_what_was_spent_before_it(provider: Provider) -> None:
    ledger = ledger_of(provider, None)
    spend(ledger, caller(), 100)
    provider.client.hset(BUDGETS, KEY, "100000")
    with pytest.raises(Refused):
        spend(ledger, caller(), 1)
    provider.client.hset(BUDGETS, KEY, "200000")
    spend(ledger, caller(), 1)
    provider.client.hset(BUDGETS, KEY, "")
    spend(ledger, caller(), 500)
    assert read_budgets(provider.client) == []


def test_a_day_that_ends_has_its_own_sums_and_the_next_one_a_budget_of_its_own(
    provider: Provider, valkey_url: str
) -> None:
    ledger = ledger_of(provider)
    spend(ledger, caller(), 100)
    board = ValkeyBoard.connect(Settings(redis_url=valkey_url, celery_broker_url=""))
    with ledger.billing(caller(""), "words", 3) as bill:
        bill.add(3)
    let_pass(board, DAY_MS // 1000)
    board.close()
    assert budget_in(provider.client).spent == 0
    spend(ledger, caller(), 40)
    days = [(sums.subject, sums.costs[0].input_tokens) for sums in read_sums(provider.client, 2, ["key"])]
    assert days == [(KEY, 40), (KEY, 100), ("(no key)", 3)]


def test_a_board_that_lost_its_data_has_spent_nothing_and_goes_on(provider: Provider) -> None:
    ledger = ledger_of(provider)
    with ledger.billing(caller(), "words", 10) as bill:
        provider.client.flushdb()
        bill.add(10)
    spend(ledger, caller(), 1_000)
    assert read_budgets(provider.client) == []
    assert [sums.costs[0].input_tokens for sums in read_sums(provider.client, 1, ["model"])] == [1_010]


def test_sums_are_by_key_and_label_too(provider: Provider) -> None:
    ledger = ledger_of(provider)
    spend(ledger, caller(labels={"user": "ann", "turn": "7"}), 5)
    spend(ledger, caller("", {"user": "ann"}), 2)
    found = {(sums.dimension, sums.subject): sums.costs[0].input_tokens for sums in read_sums(provider.client, 1)}
    assert found == {
        ("model", ""): 7, ("collection", "filings"): 7, ("key", KEY): 5, ("key", "(no key)"): 2,
        ("label", "user=ann"): 7, ("label", "turn=7"): 5,
    }  # fmt: skip


def test_a_model_without_a_price_uses_up_no_budget(provider: Provider) -> None:
    ledger = ledger_of(provider, 1)
    free = Ledger(provider.client, Tariff({}, "USD"), provider.fleet_counters)
    for _ in range(3):
        spend(free, caller(), 1_000)
    assert budget_in(provider.client).spent == 0
    spend(ledger, caller(), 1)
