"""The Celery tasks, one per queue. They contain no rules."""

from collections.abc import Iterable
from functools import cache

import redis
import structlog
from celery import current_app, shared_task

from querymill_shared import bells
from querymill_shared.doorbell import Doorbell
from querymill_shared.queues import Queue, task_of
from querymill_workers import wiring
from querymill_workers.jobs.bell import Bell

_log = structlog.get_logger(__name__)


@shared_task(name=task_of(Queue.SEARCH))
def search(job_id: str, step: str) -> None:
    """Run a step that needs the stores."""
    answer(Bell(job_id, step, Queue.SEARCH))


@shared_task(name=task_of(Queue.EXPAND))
def expand(job_id: str, step: str) -> None:
    """Run a step that waits for the chat model."""
    answer(Bell(job_id, step, Queue.EXPAND))


@shared_task(name=task_of(Queue.INGEST))
def ingest(job_id: str, step: str) -> None:
    """Run a step that ingests documents."""
    answer(Bell(job_id, step, Queue.INGEST))


@shared_task(name=task_of(Queue.EMBED))
def embed(job_id: str, step: str) -> None:
    """Run a step that only embeds, in bulk."""
    answer(Bell(job_id, step, Queue.EMBED))


@shared_task(name=task_of(Queue.RERANK))
def rerank(job_id: str, step: str) -> None:
    """Run a step that waits for the relevance judge."""
    answer(Bell(job_id, step, Queue.RERANK))


@shared_task(name=task_of(Queue.RANKS))
def ranks(job_id: str, step: str) -> None:
    """Run a step that keeps the CPU busy."""
    answer(Bell(job_id, step, Queue.RANKS))


def answer(bell: Bell) -> None:
    """Run the step that a bell names, and others of its queue."""
    wiring.step_pool().answer_here(bell, wiring.ports(), ring_all)


def ring_all(rung: Iterable[Bell]) -> None:
    """Ring several bells."""
    for bell in rung:
        ring_safely(bell)


def ring_safely(bell: Bell) -> None:
    """Ring one bell. If it cannot be rung, the sweeper rings it later."""
    try:
        ring(bell)
    except redis.RedisError as error:
        _log.warning("a bell is not rung yet", job_id=bell.job_id, step=bell.step, error=type(error).__name__)


def ring(bell: Bell) -> None:
    """Ring one bell. Its message holds only a job id and a step name."""
    chosen = wiring.settings()
    if chosen.broker_url == chosen.redis_url:
        wiring.cache_client().lpush(bell.queue.value, bells.message(bell.queue, bell.job_id, bell.step))
    else:
        doorbell().ring_step(bell.queue, bell.job_id, bell.step)


@cache
def doorbell() -> Doorbell:
    """Return this process's doorbell on a broker of its own."""
    return Doorbell(current_app.connection_for_write, wiring.cache_client())
