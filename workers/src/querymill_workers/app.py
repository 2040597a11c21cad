"""The Celery app: ``celery -A querymill_workers.app worker -Q search,expand,rerank``.

Each option was measured. The reasons are next to the options and in ADR 3 in ``adr/``.
"""

from importlib import import_module
from typing import Any

from celery import Celery
from celery.loaders.app import AppLoader
from celery.signals import setup_logging
from kombu import Queue as BrokerQueue

from querymill_shared.broker import broker_options
from querymill_shared.queues import Queue
from querymill_shared.urls import is_redis
from querymill_workers import logs, wiring

_BROKER_URL = wiring.settings().broker_url
_ON_REDIS = is_redis(_BROKER_URL)


class Loader(AppLoader):
    """Imports what is installed, where Celery's own looks into the working folder first."""

    def import_from_cwd(self, module: str, imp: Any = None, package: str | None = None) -> Any:
        """Import a module."""
        return (imp or import_module)(module, package=package)


app = Celery(
    "querymill",
    loader=Loader,
    # The only one is for Django: it would import the settings of an application from the working folder.
    fixups=[],
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
    worker_consumer="querymill_workers.consumer:LoneConsumer",
    **broker_options(_BROKER_URL, transport="querymill_workers.transport:BellTransport"),
    broker_connection_retry_on_startup=True,
    # A worker outlives its broker, however long that is away.
    broker_connection_max_retries=None,
    broker_heartbeat=10,
    worker_soft_shutdown_timeout=10,
    worker_enable_soft_shutdown_on_idle=True,
    # Whoever reaches the broker could end a worker by a message.
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
)


# Here, not in a module that an app may leave out: without it, a thread that breaks draws every local variable.
@setup_logging.connect
def log_as_json(**_: Any) -> None:
    """Keep Celery from setting up its own logs."""
    logs.configure(wiring.settings().querymill_log_level)
