"""The Celery app: ``celery -A querymill_workers.app worker -Q search,expand,rerank``.

Each option was measured. The reasons are next to the options and in ADR 3 in ``adr/``.
"""

from celery import Celery
from kombu import Queue as BrokerQueue

from querymill_shared.broker import transport_options
from querymill_shared.queues import Queue
from querymill_workers import wiring

_ON_REDIS = wiring.settings().broker_url.startswith("redis")

app = Celery(
    "querymill",
    broker=wiring.settings().broker_url,
    include=["querymill_workers.tasks", "querymill_workers.observe"],
    set_as_current=True,
)
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    result_serializer="json",
    # Results are on the board, so a step needs one message and no result backend.
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_disable_prefetch=_ON_REDIS,
    task_queues=[BrokerQueue(queue, no_ack=_ON_REDIS) for queue in Queue],
    task_create_missing_queues=False,
    # Only bells get through to Celery: the transport filters them on Redis, the consumer on other brokers.
    worker_consumer="celery.worker.consumer:Consumer" if _ON_REDIS else "querymill_workers.consumer:BellConsumer",
    broker_transport="querymill_workers.transport:BellTransport" if _ON_REDIS else None,
    broker_transport_options=dict(transport_options(wiring.settings().broker_url)),
    broker_connection_retry_on_startup=True,
    broker_heartbeat=10,
    worker_soft_shutdown_timeout=10,
    worker_enable_soft_shutdown_on_idle=True,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
)
