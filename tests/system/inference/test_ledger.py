"""What calls cost, on a real Valkey and a model server that counts tokens: each call once, on whom it is charged."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from querymill_shared import costs
from querymill_shared.board import AttemptPart, Claim
from querymill_shared.contracts.costs import ModelCost, ModelPrice, added
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.fields import Lane
from querymill_shared.costs import Dimension, read_sums
from querymill_workers.inference.fleet_cache import StillComing
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.job_counts import counting
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream
from tests.fixtures.inference import Provider
from tests.fixtures.tallies import until

TURNS: list[ChatTurn] = [{"role": "user", "content": "how many ships?"}]
CHAT = ModelPrice(input=Decimal("0.5"), output=Decimal(2))
KEY = "0123456789ab"


@pytest.fixture(autouse=True)
def _replies(openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_answer("nine")


def caller(collection: str = "filings", seconds: float = 30) -> Caller:
    return Caller(collection, Lane.NORMAL, time.monotonic() + seconds)


def sums(provider: Provider, dimension: Dimension = "collection") -> dict[str, tuple[ModelCost, ...]]:
    return {found.subject: found.costs for found in read_sums(provider.client, 1, [dimension])}


def cost(model: str, calls: int, sent: int, written: int, nanos: int | None) -> ModelCost:
    currency = "" if nanos is None else "USD"
    return ModelCost(
        model=model, calls=calls, input_tokens=sent, output_tokens=written, cost_nanos=nanos, currency=currency
    )


@contextmanager
def step() -> Iterator[list[AttemptPart]]:
    """Run a block as a step of a job, whose parts are in the list afterwards."""
    parts: list[AttemptPart] = []
    claim = Claim("j", "s", 1, EmbedTexts(texts=(TextToEmbed(id="a", text="a"),), collection="c"), None, 0.0)
    with counting(claim) as counted:
        yield parts
        parts += counted.close()


def test_a_reply_costs_its_tokens_in_and_out(provider: Provider) -> None:
    provider.prices["scripted"] = CHAT
    with step() as parts:
        provider.chat().ask(TURNS, max_tokens=9, caller=caller())
    paid = (cost("scripted", 1, 10, 5, 15_000),)
    assert sums(provider) == {"filings": paid}
    assert sums(provider, "model") == {"": paid}
    assert added(each for part in parts for each in part.costs) == paid


def test_a_streamed_reply_costs_as_much(provider: Provider, openai_server: OpenAIServer) -> None:
    provider.prices["scripted"] = CHAT
    openai_server.script.chat = lambda body: chat_stream("nine ", "ships", ".")
    provider.chat().stream(TURNS, max_tokens=9, caller=caller(), hear=lambda part: True)
    assert sums(provider) == {"filings": (cost("scripted", 1, 10, 3, 11_000),)}


def test_a_model_without_a_price_has_tokens_and_no_money(provider: Provider) -> None:
    provider.chat().ask(TURNS, max_tokens=9, caller=caller())
    assert sums(provider) == {"filings": (cost("scripted", 1, 10, 5, None),)}


def test_what_is_cached_costs_nothing(provider: Provider) -> None:
    provider.prices.update(scripted=CHAT, words=CHAT)
    for _ in range(2):
        with step() as parts:
            provider.chat().ask(TURNS, max_tokens=9, caller=caller())
            provider.embeddings().embed(["nine ships"], input_type="query", caller=caller())
    assert [each for part in parts for each in part.costs] == []
    assert sums(provider)["filings"] == (cost("scripted", 1, 10, 5, 15_000), cost("words", 1, 1, 0, 500))


def test_of_calls_that_several_share_the_first_pays(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_answer("nine", after_s=0.3)
    with ThreadPoolExecutor(5) as pool:
        asked = [pool.submit(provider.chat().ask, TURNS, max_tokens=9, caller=caller()) for _ in range(5)]
        assert {future.result()[0] for future in asked} == {"nine"}
    assert sums(provider) == {"filings": (cost("scripted", 1, 10, 5, None),)}


def test_each_pays_for_its_own_texts_of_a_request(provider: Provider, openai_server: OpenAIServer) -> None:
    one = provider.embeddings()
    with ThreadPoolExecutor(8) as pool:
        for collection, words in (("left", ["a", "b", "c"]), ("right", ["d"])) * 4:
            texts = [f"{word} {time.monotonic_ns()}" for word in words]
            pool.submit(one.embed, texts, input_type="query", caller=caller(collection))
    paid = sums(provider)
    requests = len(openai_server.seen("embeddings"))
    assert (paid["left"][0].input_tokens, paid["right"][0].input_tokens) == (12, 4)
    assert paid["left"][0].calls + paid["right"][0].calls == requests


def test_a_reply_that_is_too_late_for_its_caller_is_charged_when_it_comes(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda body: chat_answer("nine", after_s=0.6)
    with pytest.raises(StillComing):
        provider.chat().ask(TURNS, max_tokens=9, caller=caller(seconds=0.3))
    assert sums(provider) == {}
    until(lambda: sums(provider) == {"filings": (cost("scripted", 1, 10, 5, None),)}, within_s=10)


def test_a_call_that_fails_costs_nothing(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: Answer(b"{}", status=400)
    with step() as parts, pytest.raises(Refused):
        provider.chat().ask(TURNS, max_tokens=9, caller=caller())
    assert sums(provider) == {}
    assert all(part.costs == () for part in parts)


def test_of_many_subjects_the_largest_are_kept_apart(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_SUBJECTS", 2)
    ledger = provider.ledger()
    for place, tokens in enumerate([50, 1, 2, 3, 4, 60, 5]):
        with ledger.billing(caller(f"c{place}"), "words", tokens) as bill:
            bill.add(tokens)
    paid = {subject: listed[0].input_tokens for subject, listed in sums(provider).items()}
    assert paid["c0"] == 50
    assert paid["c5"] == 60
    assert sum(paid.values()) == 125
    assert len(paid) <= 5


def test_what_another_program_wrote_is_left_out(provider: Provider) -> None:
    day = int(time.time()) // 86_400
    provider.client.hset(costs.sums_key(day, "collection"), "c", "no\tsum")
    provider.client.set(costs.sums_key(day, "model"), "x")
    assert read_sums(provider.client, 1) == [costs.Sums(costs.date_of(day), "collection", "c", ())]


def purse() -> str:
    return costs.purse_key(int(time.time() * 1000))


def sums_of(dimension: str) -> str:
    return costs.sums_key(int(time.time() * 1000) // costs.DAY_MS, dimension)


#: What another program writes: a command, its key by what it is, and the rest.
OVER = {
    "the purse": ("SET", "purse", "x"),
    "what a key has spent": ("HSET", "purse", f"spent/{KEY}", "x"),
    "what a key has spent, as no number": ("HSET", "purse", f"spent/{KEY}", "nan"),
    "what a key has spent, too large to count": ("HSET", "purse", f"spent/{KEY}", "9" * 18),
    "what is held for a key": ("HSET", "purse", f"held/{KEY}", "x"),
    "what is held for a key, with a sign": ("HSET", "purse", f"held/{KEY}", "-5"),
    "what a collection took": ("HSET", "purse", "tokens/filings", "x"),
    "what a collection took, too large to count": ("HSET", "purse", "tokens/filings", "9e15"),
    "the budgets": ("SET", "budgets", "x"),
    "a budget": ("HSET", "budgets", KEY, "nan"),
    "the sums of models": ("SET", "model", "x"),
    "the sums of collections": ("RPUSH", "collection", "x"),
    "the weights of collections": ("SET", "collection:weights", "x"),
    "a line of the sums": ("HSET", "model", "", "rubbish"),
}


@pytest.mark.parametrize("written", OVER.values(), ids=OVER)
@pytest.mark.parametrize("is_under_way", [False, True])
def test_calls_are_made_and_charged_whatever_was_written_over_the_ledger(
    provider: Provider, written: tuple[str, ...], *, is_under_way: bool
) -> None:
    provider.prices["words"] = CHAT
    provider.client.hset(costs.BUDGETS, KEY, "100000000000")
    places = {"purse": purse(), "budgets": costs.BUDGETS}
    command, place, *rest = written
    client: Any = provider.client
    ledger = provider.ledger(1_000)
    for is_over in (True, False):
        who = replace(caller(), owner=KEY)
        if is_over and not is_under_way:
            client.execute_command(command, places.get(place, sums_of(place)), *rest)
        with ledger.billing(who, "words", 10) as bill:
            if is_over and is_under_way:
                provider.client.delete(places.get(place, sums_of(place)))
                client.execute_command(command, places.get(place, sums_of(place)), *rest)
            bill.add(10)
    assert sums(provider)["filings"][0].input_tokens in (10, 20)
    assert provider.client.hget(purse(), f"held/{KEY}") in (None, b"0")
    assert all(provider.client.pttl(key) > 0 for key in provider.client.scan_iter("qm:{costs}:day:*"))


@pytest.mark.parametrize("place", [costs.BUDGETS, "purse", "spent"])
def test_budgets_are_read_whatever_another_program_wrote(provider: Provider, place: str) -> None:
    provider.client.hset(costs.BUDGETS, KEY, "100")
    if place == "spent":
        provider.client.hset(purse(), f"spent/{KEY}", "x")
    else:
        provider.client.set(purse() if place == "purse" else place, "x")
    assert [budget.spent for budget in costs.read_budgets(provider.client)] in ([], [0])


def test_a_reply_that_was_paid_for_is_not_lost_if_its_sums_cannot_be_written(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "MAX_SUBJECTS", "many")  # which the script cannot count with
    with step() as parts:
        reply, _ = provider.chat().ask(TURNS, max_tokens=9, caller=caller())
    assert reply == "nine"
    assert added(each for part in parts for each in part.costs) == (cost("scripted", 1, 10, 5, None),)


@pytest.mark.parametrize("daily", [None, 1_000])
def test_a_purse_that_is_lost_under_way_has_an_end_and_no_debts(provider: Provider, daily: int | None) -> None:
    provider.prices["words"] = ModelPrice(input=Decimal(1), output=Decimal(1))
    owner = "" if daily else KEY
    if owner:
        provider.client.hset(costs.BUDGETS, KEY, str(1_000_000))
    ledger, used = provider.ledger(daily), 0
    with ledger.billing(replace(caller(), owner=owner), "words", 900) as bill:
        provider.client.delete(purse())
        bill.add(5)
    assert provider.client.pttl(purse()) > 0
    assert all(int(amount) >= 0 for amount in provider.client.hvals(purse()))
    with suppress(Refused):
        for _ in range(10):
            with ledger.billing(replace(caller(), owner=owner), "words", 200) as bill:
                bill.add(200)
                used += 200
    assert used == 1_000
