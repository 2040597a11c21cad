"""/metrics in the Prometheus format: the fleet's figures, read from the board's server at each scrape.

Every worker and every gateway serves the same figures of the fleet. The number of series is fixed: a label has the
values that this release knows, each from the start, and ``other`` for the rest. Collections, users, jobs and documents
are no labels. The one exception are the labels of callers: the ten that most of today's jobs had.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Final, get_args

import redis
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from querymill_shared import counters
from querymill_shared.board import lives
from querymill_shared.board.away import AWAY
from querymill_shared.board.counts import JobCounts, read_counts, read_label_counts
from querymill_shared.board.queue_work import QueueWork, read_work
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.counters import AccountState, CallOutcome
from querymill_shared.queues import Queue

_log = logging.getLogger(__name__)

#: The values of each label. What a newer release or another program counted under further values is counted as `OTHER`.
KINDS: Final = tuple(sorted(request.model_fields["kind"].default for request in get_args(JobRequest)))
STATES: Final = ("done", "failed", "cancelled", "dead", "not_found", "refused")
VALUES: Final[Mapping[str, Sequence[str]]] = {
    "kind": KINDS,
    "lane": tuple(Lane),
    "outcome": get_args(CallOutcome),
    "queue": tuple(Queue),
    "state": STATES,
}
OTHER: Final = "other"
#: The labels of jobs that are shown.
MAX_JOB_LABELS: Final = 10
#: The models whose accounts are shown, those in trouble first: the board remembers each that the settings ever named.
MAX_MODELS: Final = 20

#: Counters with labels: help text and the labels' names.
LABELLED: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "budget_granted": ("Provider calls allowed by the rate limiter", ("lane",)),
    "budget_waited_ms": ("Milliseconds that provider calls waited for the rate limiter", ("lane",)),
    "budget_refused": ("Provider calls refused because none could start before the deadline", ("lane",)),
    "provider_calls": ("Provider calls by outcome", ("outcome",)),
    "provider_tokens": ("Tokens that providers charge: as they report, or as estimated if a call was cut", ("lane",)),
    "provider_cost_nanos": (
        "What provider calls cost by QUERYMILL_PRICES, in billionths of QUERYMILL_CURRENCY's unit",
        ("lane",),
    ),
    "over_budget": ("Provider calls that the budget of an API key did not allow", ("lane",)),
    "processor_ms": ("Milliseconds of processor time that steps took", ("kind", "lane")),
    "steps_run": ("Attempts at steps that workers made", ("queue",)),
    "callback_calls": ("Calls of addresses that are told of the end of jobs, by outcome", ("outcome",)),
    "texts_refused": ("Texts that a provider refused and that were set aside", ("kind",)),
    "elements_dropped": ("Queue elements dropped because they were not a bell", ("queue",)),
}
PLAIN: Final = {
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
#: Upper bounds of the texts of an embedding request, as they are counted.
BATCH_BOUNDS: Final = tuple(2**power for power in range(12))
_BREAKER = {"closed": 0.0, "half-open": 0.5, "open": 1.0}


class FleetFigures(Collector):
    """Reads the fleet's counters, its queues and the state of its accounts at each scrape.

    While the board is away, the only figure is that it is. What it refuses otherwise, such as a command that its user
    may not run, fails the scrape.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def collect(self) -> Iterable[Metric]:
        """Yield every metric, including those that nothing was counted for yet.

        Raises:
            redis.RedisError: The board answers, and refuses to be read.
        """
        board_up = GaugeMetricFamily("querymill_board_up", "Whether the board answers: 1, or 0 without other figures")
        try:
            families = list(self._read())
        except AWAY:
            families = []
        except redis.RedisError as error:
            _log.error("the figures of the fleet cannot be read: %s", type(error).__name__)
            raise
        board_up.add_metric([], 1.0 if families else 0.0)
        yield from (board_up, *families)

    def _read(self) -> Iterable[Metric]:
        counts = counters.read(self._client)
        for name, (text, labels) in LABELLED.items():
            yield _counter(f"querymill_{name}", text, labels, _by_labels(counts, name))
        for name, text in PLAIN.items():
            yield CounterMetricFamily(f"querymill_{name}", text, value=counts.get(name, 0))
        yield _batch_sizes(counts)
        yield from _accounts(counters.accounts(self._client))
        yield from _jobs(read_counts(self._client))
        yield _labels(read_label_counts(self._client, limit=MAX_JOB_LABELS))
        alive = lives.read_lives(self._client)
        workers = GaugeMetricFamily("querymill_workers", "Worker processes alive that listen", labels=["queue"])
        listening = lives.listening(alive)
        for queue in Queue:
            workers.add_metric([queue], listening[queue])
        yield from (workers, *_queues(read_work(self._client, alive)))


def _counter(
    name: str, text: str, labels: Sequence[str], counts: Iterable[tuple[tuple[str, ...], float]]
) -> CounterMetricFamily:
    """Return a counter with every series that its labels allow, and one more for what has other values."""
    family = CounterMetricFamily(name, text, labels=labels)
    known = dict.fromkeys(product(*(VALUES[label] for label in labels)), 0.0)
    others = 0.0
    for values, count in counts:
        if values in known:
            known[values] += count
        else:
            others += count
    for values, count in known.items():
        family.add_metric(values, count)
    if others:
        family.add_metric([OTHER] * len(labels), others)
    return family


def _by_labels(counts: Mapping[str, float], name: str) -> list[tuple[tuple[str, ...], float]]:
    return [(tuple(key.split("/")[1:]), count) for key, count in counts.items() if key.startswith(f"{name}/")]


def _batch_sizes(counts: Mapping[str, float]) -> HistogramMetricFamily:
    total, buckets = 0.0, []
    for bound in BATCH_BOUNDS:
        total += counts.get(f"batch_size/{bound}", 0.0)
        buckets.append((str(float(bound)), total))
    buckets.append(("+Inf", sum(count for _, count in _by_labels(counts, "batch_size"))))
    return HistogramMetricFamily(
        "querymill_batch_size", "Texts per embedding request", buckets=buckets, sum_value=counts.get("batched_texts", 0)
    )


def _accounts(states: Sequence[AccountState]) -> Iterable[Metric]:
    """Yield the worst state of each model: a key or an address that was replaced leaves an account behind."""
    breaker = GaugeMetricFamily(
        "querymill_breaker", "State of the circuit breaker: 0 closed, 0.5 half-open, 1 open", labels=["model"]
    )
    paused = GaugeMetricFamily(
        "querymill_paused_seconds", "Seconds until the fleet may call the provider again", labels=["model"]
    )
    worst: dict[str, tuple[float, float]] = {}
    for state in states:
        opened, paused_s = worst.get(state.model, (0.0, 0.0))
        worst[state.model] = max(opened, _BREAKER[state.breaker]), max(paused_s, state.paused_s)
    troubled = sorted(worst, key=lambda model: (-worst[model][0], -worst[model][1], model))
    for model in troubled[:MAX_MODELS]:
        breaker.add_metric([model], worst[model][0])
        paused.add_metric([model], worst[model][1])
    yield from (breaker, paused)


def _jobs(counts: JobCounts) -> Iterable[Metric]:
    yield _counter("querymill_jobs_submitted", "Jobs that the board accepted", ("kind",), _keyed(counts.submitted))
    yield _counter(
        "querymill_jobs_ended", "Jobs that ended, by how they ended", ("kind", "state"), counts.ended.items()
    )
    yield _counter(
        "querymill_jobs_incomplete", "Jobs that are done, with a result that lacks a part", ("kind",),
        _keyed(counts.incomplete),
    )  # fmt: skip
    seconds = HistogramMetricFamily(
        "querymill_job_seconds", "Seconds from submission to end, without cancelled jobs", labels=["kind"]
    )
    for kind, latency in counts.latency.items():
        if kind in KINDS:
            buckets = [
                ("+Inf" if bound == float("inf") else str(bound), float(jobs)) for bound, jobs in latency.buckets
            ]
            seconds.add_metric([kind], buckets, latency.total_s)
    yield seconds
    yield CounterMetricFamily(
        "querymill_leases_lost", "Steps taken from a worker that died or hung", value=counts.leases_lost
    )
    yield CounterMetricFamily(
        "querymill_due_dropped", "Entries of due lists dropped because they named no step", value=counts.due_dropped
    )
    yield GaugeMetricFamily("querymill_dead_letters", "Jobs on the dead-letter list", value=counts.dead_letters)


def _labels(counts: Iterable[tuple[str, str, int]]) -> Metric:
    labelled = GaugeMetricFamily(
        "querymill_labelled_jobs", "Jobs that ended today (UTC) with a label, for the ten labels that most of them had",
        labels=["name", "value"],
    )  # fmt: skip
    for name, value, jobs in counts:
        labelled.add_metric([name, value], jobs)
    return labelled


def _keyed(counts: Mapping[str, int]) -> list[tuple[tuple[str, ...], float]]:
    return [((name,), count) for name, count in counts.items()]


def _queues(queues: Sequence[QueueWork]) -> Iterable[Metric]:
    waiting = GaugeMetricFamily("querymill_steps_waiting", "Steps that wait for a thread of a worker", labels=["queue"])
    running = GaugeMetricFamily("querymill_steps_running", "Steps that a worker holds", labels=["queue"])
    slots = GaugeMetricFamily(
        "querymill_slots", "Threads of the workers that listen; one that serves several queues counts for each",
        labels=["queue"],
    )  # fmt: skip
    oldest = GaugeMetricFamily(
        "querymill_step_oldest_seconds", "Seconds that the oldest step has waited, 0 if none waits", labels=["queue"]
    )
    for work in queues:
        waiting.add_metric([work.queue], work.waiting)
        running.add_metric([work.queue], work.running)
        slots.add_metric([work.queue], work.slots)
        oldest.add_metric([work.queue], work.oldest_s or 0.0)
    yield from (waiting, running, slots, oldest)
