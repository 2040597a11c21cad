"""/metrics in the format of Prometheus: the fleet's figures, read from the board's server when scraped.

Every worker serves the same figures; scrape one of them.
"""

from collections.abc import Iterable, Mapping

import redis
from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from querymill_shared import meters

#: What is counted, and what its label is called.
LABELLED = {
    "budget_granted": ("Calls that the budget let go", "lane"),
    "budget_waited_ms": ("Milliseconds that calls waited for the budget", "lane"),
    "budget_refused": ("Calls that could not have gone in time", "lane"),
    "provider_calls": ("Calls to providers by how they ended", "outcome"),
    "elements_dropped": ("Elements of a queue that were no bell", "queue"),
}
PLAIN = {
    "budget_pauses": "Pauses that a provider asked of the fleet",
    "breaker_opened": "Times a circuit breaker opened",
    "tokens_refunded": "Tokens reserved and not used",
    "tokens_charged_after": "Tokens used and not reserved",
    "batched_texts": "Texts sent to the embedding model",
    **{
        f"{sort}_{what}": f"{said} ({sort}s)"
        for sort in ("vector", "chat")
        for what, said in (
            ("hit", "Found in the fleet's cache"),
            ("miss", "Asked of the provider"),
            ("shared", "Taken from somebody who was asking already"),
            ("takeover", "Asked again because who asked first failed or died"),
        )
    },
    "vector_process_hit": "Vectors found in the process' own cache",
}
_BREAKER = {"closed": 0.0, "half-open": 0.5, "open": 1.0}


class FleetFigures(Collector):
    """Reads the fleet's counters and the state of its accounts at each scrape."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def collect(self) -> Iterable[Metric]:
        """Give every figure, also those that nothing was counted for yet."""
        counts = meters.read(self._client)
        for name, (said, label) in LABELLED.items():
            family = CounterMetricFamily(f"querymill_{name}", said, labels=[label])
            for value, count in _by_label(counts, name).items():
                family.add_metric([value], count)
            yield family
        for name, said in PLAIN.items():
            yield CounterMetricFamily(f"querymill_{name}", said, value=counts.get(name, 0))
        yield _batch_sizes(counts)
        breaker = GaugeMetricFamily("querymill_breaker", "0 closed, 0.5 half-open, 1 open", labels=["model"])
        paused = GaugeMetricFamily("querymill_paused_seconds", "How long a provider is still paused", labels=["model"])
        for account in meters.accounts(self._client):
            breaker.add_metric([account.model], _BREAKER[account.breaker])
            paused.add_metric([account.model], account.paused_s)
        yield from (breaker, paused)


def serve(client: redis.Redis, port: int) -> None:
    """Serve /metrics on a port from a thread of its own."""
    registry = CollectorRegistry()
    registry.register(FleetFigures(client))
    start_http_server(port, registry=registry)


def _by_label(counts: Mapping[str, float], name: str) -> dict[str, float]:
    return {key.partition("/")[2]: count for key, count in counts.items() if key.startswith(f"{name}/")}


def _batch_sizes(counts: Mapping[str, float]) -> HistogramMetricFamily:
    sizes = sorted((int(bound), count) for bound, count in _by_label(counts, "batch_size").items())
    total, buckets = 0.0, []
    for bound, count in sizes:
        total += count
        buckets.append((str(float(bound)), total))
    buckets.append(("+Inf", total))
    return HistogramMetricFamily(
        "querymill_batch_size", "Texts per embedding request", buckets=buckets, sum_value=counts.get("batched_texts", 0)
    )
