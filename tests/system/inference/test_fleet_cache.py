"""Nothing embedded twice: process cache, fleet cache, somebody who is getting it, one batched request."""

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import redis

from querymill_shared import counters
from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.profiles import EmbeddingProfile
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from querymill_workers.text.tokens import cut, estimate
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, embedded, embedding_answer, held
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.inference import Provider
from tests.fixtures.tallies import until

ASKING = Caller("c", Lane.INTERACTIVE)


def within(seconds: float, lane: Lane = Lane.INTERACTIVE, collection: str = "c") -> Caller:
    return Caller(collection, lane, time.monotonic() + seconds)


def wait_for_a_request(server: OpenAIServer) -> None:
    until(lambda: server.requests)


def texts_seen(server: OpenAIServer) -> Counter[str]:
    return Counter(text for body in server.seen("embeddings") for text in body["input"])


def test_what_one_process_embedded_the_next_one_finds(provider: Provider, openai_server: OpenAIServer) -> None:
    first, usage = provider.embeddings().embed(["a b", "c"], input_type="query", caller=ASKING)
    again, nothing = provider.embeddings().embed(["a  b", "c", "c"], input_type="query", caller=ASKING)
    assert (usage.calls, nothing.calls) == (1, 0)
    np.testing.assert_array_equal(again, first[[0, 1, 1]])
    np.testing.assert_allclose(first[0], vector_of("a b"), rtol=1e-6)
    assert texts_seen(openai_server) == {"a b": 1, "c": 1}


def test_a_process_keeps_a_vector_no_longer_than_the_fleet(provider: Provider, openai_server: OpenAIServer) -> None:
    embeddings = provider.embeddings(ttl_s=0.2)
    embeddings.embed(["a"], input_type="query", caller=ASKING)
    time.sleep(0.3)
    embeddings.embed(["a"], input_type="query", caller=ASKING)
    assert texts_seen(openai_server) == {"a": 2}


@pytest.mark.parametrize("change", ["collection", "model", "dimensions", "input_type"])
def test_another_scope_model_dimension_or_input_type_reads_nothing_of_it(
    provider: Provider, openai_server: OpenAIServer, change: str
) -> None:
    provider.embeddings().embed(["a"], input_type="query", caller=ASKING)
    profile = EmbeddingProfile(
        "new" if change == "model" else "words", 3 if change == "dimensions" else DIMENSIONS, asymmetric=True
    )
    caller = within(5, collection="other") if change == "collection" else ASKING
    if change == "dimensions":
        openai_server.script.embeddings = lambda body: _short(len(body["input"]))
    other = provider.embeddings(profile=profile)
    other.embed(["a"], input_type="passage" if change == "input_type" else "query", caller=caller)
    assert len(openai_server.seen("embeddings")) == 2


def _short(count: int) -> Answer:
    return embedding_answer([[1.0, 0.0, 0.0]] * count)


def test_a_shared_scope_serves_every_collection(provider: Provider, openai_server: OpenAIServer) -> None:
    provider.embeddings(scoped=False).embed(["a"], input_type="query", caller=ASKING)
    provider.embeddings(scoped=False).embed(["a"], input_type="query", caller=within(5, collection="other"))
    assert len(openai_server.seen("embeddings")) == 1


def test_the_same_text_asked_for_at_once_is_embedded_once(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.embeddings = lambda body: Answer(embedded(body).body, after_s=0.3)
    fleet = [provider.embeddings() for _ in range(4)]
    with ThreadPoolExecutor(20) as pool:
        asked = [
            pool.submit(fleet[n % 4].embed, ["same", f"own {n}"], input_type="query", caller=ASKING) for n in range(20)
        ]
        for future in asked:
            np.testing.assert_allclose(future.result()[0][0], vector_of("same"), rtol=1e-6)
    assert set(texts_seen(openai_server).values()) == {1}


def test_texts_that_wait_together_travel_together(provider: Provider, openai_server: OpenAIServer) -> None:
    one = provider.embeddings(rpm=15)
    one.embed(["first"], input_type="query", caller=ASKING)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda n: one.embed([f"text {n}"], input_type="query", caller=within(60)), range(10)))
    assert [len(body["input"]) for body in openai_server.seen("embeddings")] == [1, 10]


def test_a_request_holds_no_more_inputs_than_the_provider_takes(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    provider.embeddings().embed([f"text {n}" for n in range(40)], input_type="passage", caller=ASKING)
    assert sorted(len(body["input"]) for body in openai_server.seen("embeddings")) == [8, 16, 16]


def test_a_failure_is_neither_kept_nor_shared(provider: Provider, openai_server: OpenAIServer) -> None:
    fails = threading.Event()
    openai_server.script.embeddings = held(fails, lambda body: Answer(b"{}", status=400))
    one, other = provider.embeddings(), provider.embeddings()
    with ThreadPoolExecutor(2) as pool:
        failing = pool.submit(one.embed, ["a"], input_type="query", caller=within(60))
        wait_for_a_request(openai_server)
        follower = pool.submit(other.embed, ["a"], input_type="query", caller=within(60))
        time.sleep(0.05)
        openai_server.script.embeddings = embedded
        fails.set()
        with pytest.raises(Refused):
            failing.result()
        np.testing.assert_allclose(follower.result()[0][0], vector_of("a"), rtol=1e-6)


def test_an_interactive_question_does_not_wait_for_the_bulk_request_of_the_same_text(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    is_answered = threading.Event()
    openai_server.script.embeddings = held(is_answered, embedded)
    bulk = threading.Thread(
        target=provider.embeddings().embed, args=(["a"],),
        kwargs={"input_type": "query", "caller": Caller("c", Lane.BULK)},
    )  # fmt: skip
    bulk.start()
    wait_for_a_request(openai_server)
    openai_server.script.embeddings = embedded
    provider.embeddings().embed(["a"], input_type="query", caller=within(8))
    assert bulk.is_alive()
    is_answered.set()
    bulk.join()


def test_a_follower_waits_no_longer_than_it_has_time(provider: Provider, openai_server: OpenAIServer) -> None:
    is_answered = threading.Event()
    openai_server.script.embeddings = held(is_answered, embedded)
    with ThreadPoolExecutor(1) as pool:
        leader = pool.submit(provider.embeddings(timeout_s=60).embed, ["a"], input_type="query", caller=within(60))
        wait_for_a_request(openai_server)
        started = time.monotonic()
        with pytest.raises(Refused, match="vector: another worker was fetching it"):
            provider.embeddings().embed(["a"], input_type="query", caller=within(0.3))
        assert time.monotonic() - started < 10
        is_answered.set()
        leader.result()


def _lead(valkey_url: str, url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        Provider(client, url, counters.FleetCounters(client)).embeddings(timeout_s=20).embed(
            ["a", "b"], input_type="query", caller=ASKING
        )


def test_when_the_process_that_leads_is_killed_its_followers_get_their_vectors(
    valkey_url: str, provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda body: Answer(
        embedded(body).body, after_s=30 if len(openai_server.requests) == 1 else 0
    )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    leader = context.Process(target=_lead, args=(valkey_url, openai_server.url))
    leader.start()
    while not openai_server.requests:
        time.sleep(0.02)
    with ThreadPoolExecutor(8) as pool:
        followers = [
            pool.submit(provider.embeddings().embed, ["a", "b"], input_type="query", caller=within(60))
            for _ in range(8)
        ]
        time.sleep(3)
        assert not any(follower.done() for follower in followers), "a leader that is alive keeps its lead"
        assert leader.pid is not None
        os.kill(leader.pid, signal.SIGKILL)
        killed = time.monotonic()
        for follower in followers:
            np.testing.assert_allclose(follower.result()[0], [vector_of("a"), vector_of("b")], rtol=1e-6)
        assert time.monotonic() - killed < 15
    leader.join()
    assert texts_seen(openai_server) == {"a": 2, "b": 2}


def test_a_daily_budget_refuses_one_collection_and_not_the_others(provider: Provider) -> None:
    one = provider.embeddings(daily=20)
    one.embed(["a few words"], input_type="query", caller=ASKING)
    with pytest.raises(Refused, match=r"daily token budget of collection 'c' is used up \(\d+ of 20 today\)"):
        one.embed(["many words " * 20], input_type="query", caller=ASKING)
    one.embed(["a few words"], input_type="query", caller=within(5, collection="other"))


def test_the_same_question_to_a_chat_model_is_asked_once(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_answer("reply", after_s=0.2)
    turns: list[ChatTurn] = [{"role": "user", "content": "q"}]
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(provider.chat().ask, turns, max_tokens=9, caller=ASKING) for _ in range(6)]
        answers = [future.result() for future in asked]
    assert {reply for reply, _ in answers} == {"reply"}
    assert sum(usage.calls for _, usage in answers) == 1
    provider.chat().ask([{"role": "user", "content": "q, by another prompt"}], max_tokens=9, caller=ASKING)
    assert len(openai_server.seen("completions")) == 2


def test_hits_of_every_level_are_counted(provider: Provider) -> None:
    one = provider.embeddings()
    one.embed(["a"], input_type="query", caller=ASKING)
    one.embed(["a"], input_type="query", caller=ASKING)
    other = provider.embeddings()
    other.embed(["a"], input_type="query", caller=ASKING)
    provider.fleet_counters.flush()
    counts = counters.read(provider.client)
    assert (counts["vector_process_hit"], counts["vector_hit"], counts["vector_miss"]) == (1, 1, 1)


SHORT_SIGHTED = EmbeddingProfile("words", DIMENSIONS, asymmetric=True, max_text_tokens=20)


@pytest.mark.parametrize("long", ["word " * 2_000, "航运公司" * 400, "x" * 8_000])
def test_no_text_travels_beyond_the_models_input(provider: Provider, openai_server: OpenAIServer, long: str) -> None:
    one = provider.embeddings(profile=SHORT_SIGHTED)
    rows, _ = one.embed([long, "short"], input_type="query", caller=ASKING)
    sent = {text for body in openai_server.seen("embeddings") for text in body["input"]}
    assert sent == {cut(long, max_tokens=20), "short"}
    assert all(estimate(text) <= 20 for text in sent)
    np.testing.assert_allclose(rows[0], vector_of(cut(long, max_tokens=20)), rtol=1e-6)


def late_of(provider: Provider, name: str) -> float:
    """Wait for replies whose caller has left, and count those that were kept."""
    stop = time.monotonic() + 20
    while time.monotonic() < stop:
        provider.fleet_counters.flush()
        if counted := counters.read(provider.client).get(name, 0.0):
            return counted
        time.sleep(0.02)
    return 0.0


def ask_in_a_hurry(provider: Provider, server: OpenAIServer, text: str) -> None:
    """Ask with little time until a call was made, which somebody may wait for."""
    while not server.requests:
        with pytest.raises(Refused):
            provider.embeddings().embed([text], input_type="query", caller=within(0.2))


def test_a_vector_that_comes_too_late_for_its_caller_is_there_for_the_next(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    is_answered = threading.Event()
    openai_server.script.embeddings = held(is_answered, embedded)
    ask_in_a_hurry(provider, openai_server, "a")
    for _ in range(2):
        # These find that somebody asks the provider, and have no time for it either.
        with pytest.raises(Refused):
            provider.embeddings().embed(["a"], input_type="query", caller=within(0.1))
    is_answered.set()
    assert late_of(provider, "vector_late") == 1
    found, usage = provider.embeddings().embed(["a"], input_type="query", caller=within(60))
    np.testing.assert_allclose(found, [vector_of("a")], rtol=1e-6)
    assert (usage.calls, texts_seen(openai_server)) == (0, {"a": 1})


def test_a_patient_caller_waits_for_the_call_that_a_hurried_one_left(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    is_answered = threading.Event()
    openai_server.script.embeddings = held(is_answered, embedded)
    ask_in_a_hurry(provider, openai_server, "a")
    with ThreadPoolExecutor(1) as pool:
        patient = pool.submit(provider.embeddings().embed, ["a"], input_type="query", caller=within(60))
        time.sleep(0.1)  # most likely it waits by now
        is_answered.set()
        found, _ = patient.result()
    np.testing.assert_allclose(found[0], vector_of("a"), rtol=1e-6)
    assert texts_seen(openai_server) == {"a": 1}


def test_a_reply_that_comes_too_late_for_its_caller_is_there_for_the_next(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    is_answered = threading.Event()
    openai_server.script.chat = held(is_answered, lambda body: chat_answer("reply"))
    turns: list[ChatTurn] = [{"role": "user", "content": "q"}]
    while not openai_server.requests:
        with pytest.raises(Refused):
            provider.chat().ask(turns, max_tokens=9, caller=within(0.2))
    is_answered.set()
    assert late_of(provider, "chat_late") == 1
    reply, usage = provider.chat().ask(turns, max_tokens=9, caller=within(60))
    assert (reply, usage.calls, len(openai_server.seen("completions"))) == ("reply", 0, 1)


def test_a_late_failure_leaves_the_text_to_the_next_caller(provider: Provider, openai_server: OpenAIServer) -> None:
    fails = threading.Event()
    openai_server.script.embeddings = held(fails, lambda body: Answer(b"{}", status=400))
    ask_in_a_hurry(provider, openai_server, "a")
    openai_server.script.embeddings = embedded
    fails.set()
    found, _ = provider.embeddings().embed(["a"], input_type="query", caller=within(60))
    np.testing.assert_allclose(found[0], vector_of("a"), rtol=1e-6)
