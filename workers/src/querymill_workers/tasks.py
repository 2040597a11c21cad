"""The Celery tasks, one per queue. They contain no rules."""

from collections.abc import Iterable

from celery import current_app, shared_task

from querymill_shared.queues import Queue, task_of
from querymill_workers import wiring
from querymill_workers.dispatch import journey
from querymill_workers.jobs.bell import Bell


@shared_task(name=task_of(Queue.SEARCH))
def search(job_id: str, step: str) -> None:
    """Run a step that needs the stores."""
    ring_all(journey.run_step(Bell(job_id, step, Queue.SEARCH), wiring.ports()))


@shared_task(name=task_of(Queue.EXPAND))
def expand(job_id: str, step: str) -> None:
    """Run a step that waits for the chat model."""
    ring_all(journey.run_step(Bell(job_id, step, Queue.EXPAND), wiring.ports()))


@shared_task(name=task_of(Queue.INGEST))
def ingest(job_id: str, step: str) -> None:
    """Run a step that ingests documents."""
    ring_all(journey.run_step(Bell(job_id, step, Queue.INGEST), wiring.ports()))


@shared_task(name=task_of(Queue.EMBED))
def embed(job_id: str, step: str) -> None:
    """Run a step that only embeds, in bulk."""
    ring_all(journey.run_step(Bell(job_id, step, Queue.EMBED), wiring.ports()))


@shared_task(name=task_of(Queue.RERANK))
def rerank(job_id: str, step: str) -> None:
    """Run a step that waits for the relevance judge."""
    ring_all(journey.run_step(Bell(job_id, step, Queue.RERANK), wiring.ports()))


@shared_task(name=task_of(Queue.RANKS))
def ranks(job_id: str, step: str) -> None:
    """Run a step that keeps the CPU busy."""
    ring_all(journey.run_step(Bell(job_id, step, Queue.RANKS), wiring.ports()))


def ring_all(bells: Iterable[Bell]) -> None:
    """Ring several bells."""
    for bell in bells:
        ring(bell)


def ring(bell: Bell) -> None:
    """Ring one bell. Its message holds only a job id and a step name."""
    current_app.send_task(task_of(bell.queue), args=[bell.job_id, bell.step], queue=bell.queue.value)
