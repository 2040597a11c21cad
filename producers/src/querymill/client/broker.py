"""Ringing the doorbells: the only file of the client that knows Celery."""

import logging
from typing import Any, Final

from celery import Celery
from kombu import Queue as BrokerQueue
from kombu.exceptions import KombuError, OperationalError

from querymill_shared.board.ringing import steps_to_ring
from querymill_shared.broker import broker_options
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.queues import Queue, task_of
from querymill_shared.urls import is_redis

_log = logging.getLogger(__name__)


#: Connections to a broker of its own. Threads take turns.
CONNECTIONS: Final = 2


class Doorbell:
    """Rings on a broker of its own. A bell carries only a job id and the name of a step."""

    def __init__(self, broker_url: str) -> None:
        self._celery = Celery("querymill-client", set_as_current=False)
        # Celery would describe the arguments for its monitors and declare the queue again with every message.
        declared: dict[str, Any] = {"declare": []} if is_redis(broker_url) else {}
        self._spared: dict[str, Any] = {"argsrepr": "", "kwargsrepr": ""} | declared
        self._celery.conf.update(
            task_serializer="json",
            task_ignore_result=True,
            task_queues=[BrokerQueue(queue.value) for queue in Queue],
            task_create_missing_queues=False,
            broker_pool_limit=CONNECTIONS,
            **broker_options(broker_url, transport="querymill_shared.broker:KeptClientTransport"),
        )

    def ring(self, job_id: str, request: JobRequest) -> None:
        """Ring for every step of a job. If ringing fails, the sweeper rings later."""
        try:
            with self._celery.producer_or_acquire() as producer:
                for queue, step in steps_to_ring(request):
                    self._celery.send_task(
                        task_of(queue),
                        args=[job_id, step],
                        queue=queue.value,
                        producer=producer,
                        retry=False,
                        **self._spared,
                    )
        except (OperationalError, KombuError, ConnectionError, OSError) as error:
            _log.warning("job %s is on the board, its bell is not rung yet: %s", job_id, type(error).__name__)

    def close(self) -> None:
        """Close the connections to the broker."""
        self._celery.close()
