"""Texts of many callers in one request, with a scripted account and a provider that is a function."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference import batching, gateway
from querymill_workers.inference.account import RateLimitHeaders
from querymill_workers.inference.batching import MAX_UNDER_WAY, BatchBounds, MicroBatcher, TextBatch, WaitingText
from querymill_workers.inference.client import NoResponse, ProviderResponse, Rejected
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.fakes.accounts import CountingFleetCounters, ScriptedAccount


class Provider:
    """Embeds a text as its length; rejects what it is told to; while it is closed, requests wait.

    It takes ``takes`` texts at most. ``most`` is what is known of that.
    """

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.rejects: set[str] = set()
        self.takes = 1_000
        self.most: int | None = None
        self.open = threading.Event()
        self.open.set()
        self.arrived = threading.Semaphore(0)
        self._lock = threading.Lock()

    def ask(self, texts: Sequence[str], timeout_s: float) -> ProviderResponse[Vectors]:
        with self._lock:
            self.requests.append(list(texts))
        self.arrived.release()
        assert self.open.wait(10)
        if len(texts) > self.takes:
            self.most = self.takes
        if self.rejects & set(texts) or len(texts) > self.takes:
            raise Rejected("HTTP 400", of_content=True)
        vectors = np.array([[len(text)] for text in texts], np.float32)
        return ProviderResponse(vectors, 10 * len(texts), RateLimitHeaders())


def batcher(
    provider: Provider, account: ScriptedAccount | None = None, *, inputs: int = 100, tokens: int = 1_000
) -> MicroBatcher:  # fmt: skip
    way: Gateway[Vectors] = Gateway(account or ScriptedAccount(), "embedding", timeout_s=5)
    bounds = BatchBounds(lambda: provider.most or inputs, tokens)
    return MicroBatcher(way, provider.ask, lane=Lane.BULK, bounds=bounds)


def texts(*words: str, tokens: int = 1, until: float | None = None) -> list[WaitingText]:
    return [WaitingText(word, tokens, until) for word in words]


def values(waiting: Sequence[WaitingText]) -> list[float]:
    return [float(text.vector.result(10)[0][0]) for text in waiting]


def test_each_text_gets_its_own_vector_and_its_share_of_the_usage() -> None:
    waiting = texts("a", "bb", "ccc")
    batcher(Provider()).add(waiting)
    assert values(waiting) == [1, 2, 3]
    assert [(text.vector.result()[1].calls, text.vector.result()[1].tokens) for text in waiting] == [
        (1, 10), (0, 10), (0, 10),
    ]  # fmt: skip


def test_when_idle_a_text_does_not_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "LINGER_S", 30.0)
    waiting = texts("a")
    batcher(Provider()).add(waiting)
    assert values(waiting) == [1]


def test_what_comes_while_a_request_is_under_way_travels_together(monkeypatch: pytest.MonkeyPatch) -> None:
    added = threading.Event()
    monkeypatch.setattr(time, "sleep", lambda _: added.wait(10))  # it lingers until both are there
    provider = Provider()
    provider.open.clear()
    first, second, third = texts("a"), texts("bb"), texts("ccc")
    way = batcher(provider)
    way.add(first)
    assert provider.arrived.acquire(timeout=10)
    way.add(second)
    way.add(third)
    added.set()
    provider.open.set()
    assert values([*first, *second, *third]) == [1, 2, 3]
    assert provider.requests == [["a"], ["bb", "ccc"]]


@settings(deadline=None)  # it starts threads
@given(
    st.lists(st.tuples(st.text("ab", min_size=1, max_size=6), st.integers(1, 60)), max_size=30),
    st.integers(1, 8),
    st.integers(10, 100),
)
def test_no_request_is_larger_than_its_bounds_and_every_text_travels_once(
    given_texts: list[tuple[str, int]], inputs: int, tokens: int
) -> None:
    provider = Provider()
    waiting = [WaitingText(f"{number} {text}", cost, None) for number, (text, cost) in enumerate(given_texts)]
    batcher(provider, inputs=inputs, tokens=tokens).add(waiting)
    assert values(waiting) == [len(text.text) for text in waiting]
    cost_of = {text.text: text.tokens for text in waiting}
    assert sorted(text for request in provider.requests for text in request) == sorted(cost_of)
    for request in provider.requests:
        assert len(request) <= inputs
        # A text that is larger than the bound travels alone.
        assert len(request) == 1 or sum(cost_of[text] for text in request) <= tokens


def test_how_many_texts_a_provider_takes_is_learned_from_one_refusal() -> None:
    provider = Provider()
    provider.takes = 3
    model = batcher(provider)
    for _ in range(2):
        waiting = texts(*(letter * size for size, letter in enumerate("abcdefg", start=1)))
        model.add(waiting)
        assert values(waiting) == [1, 2, 3, 4, 5, 6, 7]
    first, *others = [len(request) for request in provider.requests]
    assert first == 7
    assert sorted(others) == [1, 1, 3, 3, 3, 3]


def test_one_text_that_cannot_be_embedded_takes_no_other_with_it() -> None:
    provider = Provider()
    provider.rejects = {"bad"}
    waiting = texts("a", "bb", "bad", "ccc", "dddd")
    batcher(provider).add(waiting)
    assert values([text for text in waiting if text.text != "bad"]) == [1, 2, 3, 4]
    with pytest.raises(Refused, match="embedding rejected: HTTP 400"):
        waiting[2].vector.result(10)
    assert ["bad"] in provider.requests


def test_a_failure_that_passes_is_not_split_but_told_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "BACKOFF_S", (0.0, 0.0))
    asked: list[int] = []

    def away(words: Sequence[str], timeout_s: float) -> ProviderResponse[Vectors]:
        asked.append(len(words))
        raise NoResponse("HTTP 503")

    way: Gateway[Vectors] = Gateway(ScriptedAccount(), "embedding", timeout_s=5)
    waiting = texts("a", "b")
    MicroBatcher(way, away, lane=Lane.BULK, bounds=BatchBounds(lambda: 10, 10)).add(waiting)
    for text in waiting:
        with pytest.raises(Unavailable, match="HTTP 503"):
            text.vector.result(10)
    assert asked == [2, 2, 2]


def test_a_refused_reservation_fails_every_text_that_waits_for_it_and_the_next_ones_go() -> None:
    account = ScriptedAccount(refuse_after=0)
    provider = Provider()
    way = batcher(provider, account)
    refused = texts("a", "b")
    way.add(refused)
    for text in refused:
        with pytest.raises(Refused, match="no call can start"):
            text.vector.result(10)
    account._refuse_after = None  # the fake's own
    later = texts("ccc")
    way.add(later)
    assert values(later) == [3]


def test_who_cannot_wait_for_the_grant_is_told_at_once_and_the_others_stay() -> None:
    way = batcher(Provider())
    way._gathering = {""}  # as while a request waits for its grant
    early, late, patient = *texts("a", until=19.9), *texts("b", until=20.0), *texts("c")
    way.add([early, late, patient])
    way.leave("", 20.0)
    assert [text.text for text in way.peek("")] == ["b", "c"]
    with pytest.raises(Refused, match="rate limit: no call can start before the deadline"):
        early.vector.result(0)
    assert not late.vector.done()


def test_no_more_requests_are_under_way_than_may_be() -> None:
    provider = Provider()
    provider.open.clear()
    waiting = texts(*(str(number) for number in range(MAX_UNDER_WAY + 3)))
    batcher(provider, inputs=1).add(waiting)
    for _ in range(MAX_UNDER_WAY):
        assert provider.arrived.acquire(timeout=10)
    time.sleep(0.02)
    assert len(provider.requests) == MAX_UNDER_WAY
    provider.open.set()
    assert values(waiting) == [len(text.text) for text in waiting]


@pytest.mark.parametrize(("times", "latest"), [([], 0.0), ([3.0, 7.0], 7.0), ([3.0, None], None)])
def test_a_request_may_wait_as_long_as_the_most_patient_of_its_texts(
    times: list[float | None], latest: float | None
) -> None:
    batch = TextBatch(batcher(Provider()), Lane.BULK, "", [WaitingText("a", 1, until) for until in times] or None)
    assert batch.until() == latest


@given(st.integers(2, 9))
def test_parts_are_the_whole_in_order(count: int) -> None:
    whole = texts(*map(str, range(count)))
    for most in (100, 3):
        parts = TextBatch(batcher(Provider(), inputs=most), Lane.BULK, "", whole).split()
        assert [text for part in parts for text in part.texts] == whole
        assert all(0 < len(part.texts) <= most for part in parts)


@pytest.mark.parametrize(("count", "bucket"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (33, 64)])
def test_sizes_are_counted_by_the_next_power_of_two(count: int, bucket: int) -> None:
    account = ScriptedAccount()
    way = batcher(Provider(), account)
    way.send(texts(*["a"] * count), 1.0)
    assert isinstance(account.fleet_counters, CountingFleetCounters)
    assert account.fleet_counters.of(f"batch_size/{bucket}") == 1
    assert account.fleet_counters.of("batched_texts") == count


def test_a_text_that_was_failed_before_is_not_failed_twice() -> None:
    (text,) = texts("a")
    text.vector.set_result((np.zeros(1, np.float32), None))  # type: ignore[arg-type]  # never looked at
    assert isinstance(text.vector, Future)
    TextBatch(batcher(Provider()), Lane.BULK, "", [text]).fail(Refused("late"))
    assert text.vector.exception() is None


def gathered(*waiting: WaitingText, collection: str) -> list[str]:
    """Return the texts that a request of a collection takes, before any is sent."""
    way = batcher(Provider(), tokens=200)
    way._gathering = {text.collection for text in waiting}  # as while their requests wait for their grants
    way.add(waiting)
    return [text.text for text in way.take(collection)]


def test_short_texts_of_other_collections_travel_along_in_turn_and_long_ones_do_not() -> None:
    given_texts = (
        WaitingText("own", 60, None, "a"),
        WaitingText("b1", 60, None, "b"),
        WaitingText("b2", 60, None, "b"),
        WaitingText("c long", 65, None, "c"),
        WaitingText("c1", 60, None, "c"),
    )
    assert gathered(*given_texts, collection="a") == ["own", "b1", "c1"]
    assert gathered(*given_texts, collection="c") == ["c long", "c1"], "nobody travels with a long text of another"


def test_a_text_that_is_late_when_its_request_is_made_is_not_sent() -> None:
    provider = Provider()
    late, fresh = WaitingText("late", 1, time.monotonic() - 1), WaitingText("fresh", 1, None)
    batcher(provider).add([late, fresh])
    assert values([fresh]) == [5]
    assert provider.requests == [["fresh"]]
    with pytest.raises(Refused, match="no call can start before the deadline"):
        late.vector.result(0)


def test_a_request_that_is_refused_for_its_key_is_not_split() -> None:
    asked: list[int] = []

    def locked(words: Sequence[str], timeout_s: float) -> ProviderResponse[Vectors]:
        asked.append(len(words))
        raise Rejected("HTTP 401")

    way: Gateway[Vectors] = Gateway(ScriptedAccount(), "embedding", timeout_s=5)
    waiting = texts(*"abcdefgh")
    MicroBatcher(way, locked, lane=Lane.BULK, bounds=BatchBounds(lambda: 10, 10)).add(waiting)
    for text in waiting:
        with pytest.raises(Refused, match="embedding rejected: HTTP 401"):
            text.vector.result(10)
    assert asked == [8]
