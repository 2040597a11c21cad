"""/metrics in the Prometheus format: the fleet's counters, read from the board's server at each scrape.

Every worker serves the same metrics, so scrape only one of them.
"""

from collections.abc import Iterable, Mapping

import redis
from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from querymill_shared import meters

#: Counters with one label: help text and the label's name.
LABELLED = {
    "budget_granted": ("Provider calls allowed by the rate limiter", "lane"),
    "budget_waited_ms": ("Milliseconds that provider calls waited for the rate limiter", "lane"),
    "budget_refused": ("Provider calls refused because none could start before the deadline", "lane"),
    "provider_calls": ("Provider calls by outcome", "outcome"),
    "elements_dropped": ("Queue elements dropped because they were not a bell", "queue"),
}
PLAIN = {
    "budget_pauses": "Times a provider made the fleet pause",
    "breaker_opened": "Times a circuit breaker opened",
    "tokens_refunded": "Tokens reserved but not used",
    "tokens_charged_after": "Tokens used beyond the reservation",
    "batched_texts": "Texts sent to the embedding model",
    **{
        f"{sort}_{what}": f"{text} ({sort}s)"
        for sort in ("vector", "chat")
        for what, text in (
            ("hit", "Served from the fleet's cache"),
            ("miss", "Fetched from the provider"),
            ("shared", "Served by a request that another worker had in flight"),
            ("takeover", "Fetched again after the first worker failed"),
        )
    },
    "vector_process_hit": "Vectors served from a process's own cache",
}
_BREAKER = {"closed": 0.0, "half-open": 0.5, "open": 1.0}


class FleetFigures(Collector):
    """Reads the fleet's counters and the state of its accounts at each scrape."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def collect(self) -> Iterable[Metric]:
        """Yield every metric, including those that nothing was counted for yet."""
        counts = meters.read(self._client)
        for name, (text, label) in LABELLED.items():
            family = CounterMetricFamily(f"querymill_{name}", text, labels=[label])
            for value, count in _by_label(counts, name).items():
                family.add_metric([value], count)
            yield family
        for name, text in PLAIN.items():
            yield CounterMetricFamily(f"querymill_{name}", text, value=counts.get(name, 0))
        yield _batch_sizes(counts)
        breaker = GaugeMetricFamily(
            "querymill_breaker", "State of the circuit breaker: 0 closed, 0.5 half-open, 1 open", labels=["model"]
        )
        paused = GaugeMetricFamily(
            "querymill_paused_seconds", "Seconds until the fleet may call the provider again", labels=["model"]
        )
        for account in meters.accounts(self._client):
            breaker.add_metric([account.model], _BREAKER[account.breaker])
            paused.add_metric([account.model], account.paused_s)
        yield from (breaker, paused)


def serve(client: redis.Redis, port: int) -> None:
    """Serve /metrics on a port, in a background thread."""
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
