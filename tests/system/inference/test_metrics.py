"""The fleet's figures, as /metrics and `querymill status` give them."""

import socket
import urllib.request

import pytest

from querymill.fleet import figures
from querymill_shared.contracts.fields import Lane
from querymill_shared.metrics_port import serve_metrics
from querymill_shared.settings import Settings
from querymill_workers.inference.account import RateLimitHeaders
from querymill_workers.jobs.deadline import Caller
from tests.fixtures.inference import Provider


@pytest.fixture
def scraped(provider: Provider) -> str:
    one = provider.embeddings(rpm=600)
    one.embed(["a", "b", "c"], input_type="query", caller=Caller("c", Lane.INTERACTIVE))
    one.embed(["a"], input_type="query", caller=Caller("c", Lane.INTERACTIVE))
    account = provider.account(model="other")
    grant = account.reserve(lane=Lane.BULK, tokens=5, until=None)
    account.report(grant, "limited", limits=RateLimitHeaders(retry_after_s=30))
    for _ in range(5):
        account.report(grant, "failed")
    provider.fleet_counters.count("elements_dropped/search")
    provider.fleet_counters.flush()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve_metrics(provider.client, port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        page: str = answer.read().decode()
    return page


@pytest.mark.parametrize(
    "line",
    [
        'querymill_budget_granted_total{lane="interactive"} 1.0',
        'querymill_provider_calls_total{outcome="answered"} 1.0',
        'querymill_provider_calls_total{outcome="failed"} 5.0',
        'querymill_provider_calls_total{outcome="cut"} 0.0',
        'querymill_provider_tokens_total{lane="interactive"} 3.0',
        'querymill_provider_tokens_total{lane="bulk"} 0.0',
        'querymill_batch_size_bucket{le="4.0"} 1.0',
        "querymill_batch_size_sum 3.0",
        "querymill_vector_miss_total 3.0",
        "querymill_vector_process_hit_total 1.0",
        "querymill_budget_pauses_total 1.0",
        'querymill_elements_dropped_total{queue="search"} 1.0',
        'querymill_breaker{model="other"} 1.0',
        'querymill_breaker{model="words"} 0.0',
        'querymill_paused_seconds{model="words"} 0.0',
    ],
)
def test_what_happened_is_in_the_metrics(scraped: str, line: str) -> None:
    assert line in scraped.splitlines()


@pytest.mark.usefixtures("scraped")
def test_status_reads_the_same_figures(valkey_url: str) -> None:
    fleet = figures(Settings(redis_url=valkey_url))
    assert fleet is not None
    assert [(state["model"], state["breaker"]) for state in fleet["providers"]] == [
        ("other", "open"),
        ("words", "closed"),
    ]
    assert fleet["counts"]["vector_miss"] == 3


def test_a_server_that_is_away_gives_no_figures() -> None:
    assert figures(Settings(redis_url="redis://127.0.0.1:1/0")) is None
