"""Celery's consumer, reduced to what workers need of it.

A message that makes Celery's own code raise ends the process. So where a listener of ours takes the bells, Celery
opens no connection at all. For other pools it takes them itself, from Redis, and `transport.py` lets bells through.
"""

import time
from collections.abc import Mapping
from typing import Any, Final

from celery import bootsteps
from celery.concurrency.thread import TaskPool as Threads
from celery.worker import state
from celery.worker.consumer import Consumer

from querymill_shared.urls import is_redis
from querymill_workers import wiring

#: Workers do not talk to each other. The options of the command line that say so could be forgotten.
_ALONE: Final = {"task_events": False, "without_gossip": True, "without_mingle": True, "without_heartbeat": True}
#: How often a process that waits looks whether it is to end, in seconds.
LOOK_S: Final = 0.25
RUN: Final = bootsteps.RUN  # type: ignore[attr-defined]  # not in its stubs


class StandBy(bootsteps.StartStopStep):
    """The step of a consumer without messages: it tells Celery that the process is ready, and waits until it ends."""

    name = "stand by"
    label = "stand by"
    last = True

    def start(self, parent: "LoneConsumer") -> None:
        """Wait. Celery's signal handlers say when the process is to end."""
        parent.on_ready()
        while parent.blueprint.state == RUN:
            state.maybe_shutdown()
            time.sleep(LOOK_S)


class StandByBlueprint(bootsteps.Blueprint):
    """The steps of a consumer that takes no messages."""

    name = "Consumer"
    default_steps = {StandBy}  # noqa: RUF012  # as its base has them

    def shutdown(self, parent: "LoneConsumer") -> None:
        """End the steps."""
        self.send_all(parent, "shutdown")


class LoneConsumer(Consumer):
    """Listens to nothing but its queues: not to remote control, nor to the events of other workers.

    With a pool of threads it takes no messages either, nor on a broker other than Redis, where no other pool can work.
    """

    connection: Any = None

    def __init__(self, on_task_request: Any, *, worker_options: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        if isinstance(kwargs.get("pool"), Threads) or not is_redis(wiring.settings().broker_url):
            self.Blueprint = StandByBlueprint
        kwargs["worker_options"] = {**(worker_options or {}), **_ALONE}
        super().__init__(on_task_request, **kwargs)
