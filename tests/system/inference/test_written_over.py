"""Another program's writes over what the fleet knows of an account, and over cached vectors: they stop no call."""

import re
import time
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import pytest
import redis

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import ACCOUNTS, ADDRESSES, CallOutcome, FleetCounters
from querymill_workers.inference.account import Account, CircuitOpen, RateLimitHeaders
from querymill_workers.inference.client import MAX_PAUSE_S
from querymill_workers.jobs.deadline import Caller
from tests.fakes.openai_server import OpenAIServer
from tests.fixtures.clocks import stepped_server
from tests.fixtures.inference import Provider

FAR = "9e15"
#: What is written: a command, what follows the account's name in the key, and the rest.
Write = tuple[str | float, ...]
OVER: Mapping[str, Write] = {
    "the account": ("SET", "", "x"),
    "the calls": ("SET", ":calls", "x"),
    "the turns": ("SET", ":turns", "x"),
    **{
        f"{field} {text}": ("HSET", "", field, text)
        for field in (
            "requests_full", "paused_until", "open_until", "probe_until", "places", "turn", "seen_interactive",
            "usual_ms", "failures", "failed_at", "strikes", "epoch", "narrowed_at", "floor_normal", "turn_normal",
        )
        for text in ("x", "nan", "-inf", "inf", FAR, "\udcff")
    },
    "a call of no lane": ("ZADD", ":calls", FAR, "|||"),
    "a call that is a word": ("ZADD", ":calls", FAR, "rubbish"),
    "a turn that is a word": ("HSET", ":turns", "normal|other", "rubbish"),
    "a turn of numbers that are none": ("HSET", ":turns", "normal|other", "nan nan nan"),
    "a turn of no lane": ("HSET", ":turns", "zzz", "0 0 1"),
    "the own turn": ("HSET", ":turns", "normal|filings", "x y z"),
}  # fmt: skip


def write_over(provider: Provider, account: Account, written: Write) -> None:
    client: Any = provider.client
    command, end, *rest = written
    texts = [text.encode(errors="surrogateescape") if isinstance(text, str) else text for text in rest]
    client.execute_command(command, f"{account.key}{end}", *texts)


def call(account: Account, outcome: CallOutcome = "answered", *, within_s: float = 2.0) -> None:
    """Make a call that has so long until it may begin."""
    until = time.monotonic() + within_s
    grant = account.reserve(lane=Lane.NORMAL, tokens=1, until=until, collection="filings")
    assert account.still_holds(grant)
    account.report(grant, outcome, limits=RateLimitHeaders(retry_after_s=0.02))


@pytest.mark.parametrize("rpm", [None, 6000])
@pytest.mark.parametrize("written", OVER.values(), ids=OVER)
def test_calls_go_on_whatever_was_written_over_their_account(
    provider: Provider, written: Write, rpm: int | None
) -> None:
    for outcome in ("answered", "limited", "failed"):
        account = provider.account(rpm=rpm, sized=True)
        call(account)
        write_over(provider, account, written)
        call(account, outcome)
        call(account)


@pytest.mark.parametrize("at_ms", [FAR, "inf"])
@pytest.mark.parametrize("what", ["calls", "turns"])
def test_calls_and_turns_of_the_far_future_take_nobodys_place(provider: Provider, what: str, at_ms: str) -> None:
    account = provider.account()
    for other in range(5):
        name = f"normal|other{other}"
        if what == "calls":
            write_over(provider, account, ("ZADD", ":calls", at_ms, f"{name}|1"))
        else:
            write_over(provider, account, ("HSET", ":turns", name, f"0 0 {at_ms}"))
    call(account)
    assert provider.client.zcard(f"{account.key}:calls") == 0
    assert provider.client.hkeys(f"{account.key}:turns") == [b"normal|filings"]


def test_a_turn_of_many_tokens_keeps_no_collection_behind_the_others(provider: Provider) -> None:
    account = provider.account()
    write_over(provider, account, ("HSET", ":turns", "normal|filings", f"{FAR} {FAR} 0"))
    call(account)
    finish, _, _ = provider.client.hget(f"{account.key}:turns", "normal|filings").split()  # type: ignore[union-attr]  # not awaited
    assert float(finish) < 100


@pytest.mark.parametrize("field", ["floor_normal", "turn_normal"])
def test_a_lower_lane_has_its_turn_under_a_limit_after_one_of_the_far_future(provider: Provider, field: str) -> None:
    account = provider.account(rpm=600)
    for _ in range(4):
        call(account)
    write_over(provider, account, ("HSET", "", field, FAR))
    for _ in range(2):
        call(account, within_s=10)


@pytest.mark.parametrize("cooldown", [FAR, "x", "-5"])
def test_the_breaker_opens_for_no_longer_than_it_may(provider: Provider, cooldown: str) -> None:
    account = provider.account()
    call(account)
    now_ms = int(time.time() * 1000)
    for field, text in {"failures": "4", "failed_at": str(now_ms - 1), "cooldown": cooldown}.items():
        write_over(provider, account, ("HSET", "", field, text))
    call(account, "failed")
    with pytest.raises(CircuitOpen) as opened:
        call(account)
    assert opened.value.again_in_s is not None
    assert 0 < opened.value.again_in_s <= 30


@pytest.mark.parametrize("place", [ACCOUNTS, ADDRESSES])
def test_calls_go_on_when_the_list_of_accounts_was_written_over(provider: Provider, place: str) -> None:
    provider.client.set(place, "x")
    account = provider.account()
    call(account)
    assert provider.client.hexists(place, account.key)


#: What another program has put in the place of a vector.
NO_VECTORS: Mapping[str, tuple[str | bytes, ...]] = {
    "a word": ("SET", b"rubbish"),
    "nothing": ("SET", b""),
    "a vector of two": ("SET", bytes(8)),
    "a list": ("RPUSH", "x"),
    "a hash": ("HSET", "a", "b"),
}


@pytest.mark.parametrize("mark", ["", ":lead"])
@pytest.mark.parametrize("written", NO_VECTORS.values(), ids=NO_VECTORS)
def test_a_text_is_embedded_again_where_its_vector_was_written_over(
    provider: Provider, openai_server: OpenAIServer, written: tuple[str | bytes, ...], mark: str
) -> None:
    caller = Caller("filings", Lane.NORMAL, time.monotonic() + 10)
    first, _ = provider.embeddings().embed(["ships"], input_type="passage", caller=caller)
    client: Any = provider.client
    (key,) = client.keys("qm:vector:*")
    client.delete(key)
    command, *rest = written
    client.execute_command(command, key + mark.encode(), *rest)
    if not mark:
        assert provider.embeddings().cached(["ships"], input_type="passage", collection="filings") is None
    if not mark or command != "SET":  # a mark is held for as long as its lease, whoever set it
        for _ in range(2):
            again, _ = provider.embeddings().embed(["ships"], input_type="passage", caller=caller)
            np.testing.assert_array_equal(again, first)
        assert len(openai_server.seen("embeddings")) == 2


@pytest.mark.parametrize("text", ["a word", "a list"])
def test_other_texts_are_found_beside_a_vector_that_was_written_over(
    provider: Provider, openai_server: OpenAIServer, text: str
) -> None:
    caller = Caller("filings", Lane.NORMAL, time.monotonic() + 10)
    provider.embeddings().embed(["ships"], input_type="passage", caller=caller)
    client: Any = provider.client
    (key,) = client.keys("qm:vector:*")
    provider.embeddings().embed(["whales"], input_type="passage", caller=caller)
    client.delete(key)
    command, *rest = NO_VECTORS[text]
    client.execute_command(command, key, *rest)
    provider.embeddings().embed(["ships", "whales"], input_type="passage", caller=caller)
    assert [body["input"] for body in openai_server.seen("embeddings")] == [["ships"], ["whales"], ["ships"]]


def test_a_server_that_is_full_keeps_the_list_of_accounts() -> None:
    """It refuses to write there as well, but for another reason."""
    with stepped_server() as server, redis.Redis.from_url(server.url) as client:
        client.hset(ACCOUNTS, "another", "model")
        client.config_set("maxmemory", 1)
        account = Account(
            client, provider="p", key="k", model="m", requests_per_minute=None, tokens_per_minute=None,
            fleet_counters=FleetCounters(None),
        )  # fmt: skip
        with pytest.raises(redis.ResponseError):
            account.reserve(lane=Lane.NORMAL, tokens=1, until=None)
        assert list(client.hgetall(ACCOUNTS)) == [b"another"]


def test_the_script_knows_the_longest_pause() -> None:
    text = (resources.files("querymill_workers.inference") / "lua" / "places.lua").read_text(encoding="utf-8")
    pause, _, _ = re.findall(r"PAUSE, OPEN, AHEAD = (\d+), (\d+), (\d+)", text)[0]
    assert int(pause) == MAX_PAUSE_S * 1_000
