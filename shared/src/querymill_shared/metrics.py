"""/metrics in the Prometheus format: the fleet's counters, read from the board's server at each scrape.

Every worker serves the same metrics, so scrape only one of them.
"""

from collections.abc import Iterable, Mapping, Sequence

import redis
from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from querymill_shared import counters
from querymill_shared.backlog import Backlog, QueueState
from querymill_shared.board import lives
from querymill_shared.board.counts import JobCounts, read_counts
from querymill_shared.queues import Queue

#: Counters with one label: help text and the label's name.
LABELLED = {
    "budget_granted": ("Provider calls allowed by the rate limiter", "lane"),
    "budget_waited_ms": ("Milliseconds that provider calls waited for the rate limiter", "lane"),
    "budget_refused": ("Provider calls refused because none could start before the deadline", "lane"),
    "provider_calls": ("Provider calls by outcome", "outcome"),
    "texts_refused": ("Texts that a provider refused and that were set aside", "kind"),
    "bells_taken": ("Bells that workers took from a queue", "queue"),
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
            ("late", "Kept for the next caller, because its own had left"),
        )
    },
    "vector_process_hit": "Vectors served from a process's own cache",
}
_BREAKER = {"closed": 0.0, "half-open": 0.5, "open": 1.0}


class FleetFigures(Collector):
    """Reads the fleet's counters, its queues and the state of its accounts at each scrape.

    Without a ``backlog`` nothing is known of the queues, and their metrics have no values.
    """

    def __init__(self, client: redis.Redis, backlog: Backlog | None = None) -> None:
        self._client = client
        self._backlog = backlog

    def collect(self) -> Iterable[Metric]:
        """Yield every metric, including those that nothing was counted for yet."""
        counts = counters.read(self._client)
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
        for account in counters.accounts(self._client):
            breaker.add_metric([account.model], _BREAKER[account.breaker])
            paused.add_metric([account.model], account.paused_s)
        yield from (breaker, paused)
        yield from _jobs(read_counts(self._client))
        yield from _queues(self._backlog)
        workers = GaugeMetricFamily("querymill_workers", "Worker processes alive that listen", labels=["queue"])
        listening = lives.listening(lives.read_lives(self._client))
        for queue in Queue:
            workers.add_metric([queue], listening[queue])
        yield workers


def serve(client: redis.Redis, port: int, backlog: Backlog | None = None, *, host: str = "127.0.0.1") -> None:
    """Serve /metrics at a port of an address, in a background thread."""
    registry = CollectorRegistry()
    registry.register(FleetFigures(client, backlog))
    start_http_server(port, addr=host, registry=registry)


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


def _jobs(counts: JobCounts) -> Iterable[Metric]:
    submitted = CounterMetricFamily("querymill_jobs_submitted", "Jobs that the board accepted", labels=["kind"])
    for kind, count in counts.submitted.items():
        submitted.add_metric([kind], count)
    ended = CounterMetricFamily("querymill_jobs_ended", "Jobs that ended, by how they ended", labels=["kind", "state"])
    for (kind, state), count in counts.ended.items():
        ended.add_metric([kind, state], count)
    incomplete = CounterMetricFamily(
        "querymill_jobs_incomplete", "Jobs that are done, with a result that lacks a part", labels=["kind"]
    )
    for kind in sorted({kind for kind, _ in counts.ended}):
        incomplete.add_metric([kind], counts.incomplete.get(kind, 0))
    seconds = HistogramMetricFamily(
        "querymill_job_seconds", "Seconds from submission to end, without cancelled jobs", labels=["kind"]
    )
    for kind, latency in counts.latency.items():
        buckets = [("+Inf" if bound == float("inf") else str(bound), float(jobs)) for bound, jobs in latency.buckets]
        seconds.add_metric([kind], buckets, latency.total_s)
    yield from (submitted, ended, incomplete, seconds)
    yield CounterMetricFamily(
        "querymill_leases_lost", "Steps taken from a worker that died or hung", value=counts.leases_lost
    )
    yield CounterMetricFamily(
        "querymill_due_dropped", "Entries of due lists dropped because they named no step", value=counts.due_dropped
    )
    yield GaugeMetricFamily("querymill_dead_letters", "Jobs on the dead-letter list", value=counts.dead_letters)


def _queues(backlog: Backlog | None) -> Iterable[Metric]:
    length = GaugeMetricFamily("querymill_queue_length", "Bells that wait for a worker", labels=["queue"])
    oldest = GaugeMetricFamily(
        "querymill_queue_oldest_seconds", "Seconds that the oldest bell has waited", labels=["queue"]
    )
    for state in _looked(backlog):
        length.add_metric([state.queue], state.length)
        if state.oldest_s is not None or not state.length:
            oldest.add_metric([state.queue], state.oldest_s or 0.0)
    yield from (length, oldest)


def _looked(backlog: Backlog | None) -> Sequence[QueueState]:
    """Return the queues, or nothing while the broker is away: the other figures are worth a scrape."""
    try:
        return () if backlog is None else backlog.look()
    except redis.RedisError:
        return ()
