"""The background threads of a worker process, started and stopped by Celery's signals."""

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NoReturn

import redis
import structlog
from celery.apps import worker as celery_worker
from celery.concurrency.thread import TaskPool as Threads
from celery.signals import celeryd_init, worker_ready, worker_shutdown, worker_shutting_down

from querymill_shared import fleet_history, tracing
from querymill_shared.board import fleet_settings, lives
from querymill_shared.board.connections import open_commands
from querymill_shared.board.queue_work import read_work
from querymill_shared.metrics_port import serve_metrics
from querymill_shared.urls import has_alternates, is_redis
from querymill_workers import logs, preflight, wiring
from querymill_workers.bell_consumer import BellListener
from querymill_workers.delivery_listener import DeliveryListener
from querymill_workers.dispatch.announce import Announcer, announce_all
from querymill_workers.dispatch.backlog import BacklogWatch
from querymill_workers.dispatch.election import Election
from querymill_workers.dispatch.sweeper import Sweeper
from querymill_workers.jobs.bell import Bell
from querymill_workers.listener import Listener
from querymill_workers.tasks import ring_all, ring_safely

_log = structlog.get_logger(__name__)

#: How long a process that ends waits for its steps, in seconds. The longest call takes 20.
SHUTDOWN_S = 10.0
#: How long a thread may compute while others wait for the interpreter, in seconds. With Python's 5 ms, each of a
#: hundred threads that wait wakes two hundred times a second to ask for its turn.
SWITCH_S = 0.05
_upkeep: list[Sweeper | Announcer | BacklogWatch | Listener] = []
#: Why this process takes no work; "" while it does.
_unready = ["it has not passed its checks, or does not listen yet"]
_STOPPING: Final = "it is stopping"
# A second SIGTERM is handled within the first: Celery's own lock would wait for itself, and the process would not end.
worker_shutting_down.lock = threading.RLock()  # type: ignore[attr-defined]  # its stubs lack it


@celeryd_init.connect
def begin_life(sender: str, instance: Any, **_: Any) -> None:
    """Report this process under its name, and put back what its former life held, before anything slow begins.

    With a broker on which bells cannot ride, end the process before Celery connects to it.
    """
    logs.configure(wiring.settings().querymill_log_level)
    # Neither Celery's banner nor what it says of signals is a line of JSON.
    instance.quiet = True
    celery_worker.safe_say = logs.say  # type: ignore[attr-defined]  # its stubs lack it
    try:
        preflight.refuse_cluster_as_broker(wiring.settings())
    except preflight.Unsafe as error:
        _log.error("refused to start", reason=str(error))
        os._exit(os.EX_CONFIG)
    wiring.name_worker(sender)
    try:
        serve_operators()
    except Exception as error:  # noqa: BLE001  # Celery swallows it, and the process would run without its port
        give_up(error)
    wiring.heartbeat().begin()


def serve_operators() -> None:
    """Serve /metrics, /healthz and /readyz at the port that the settings name, if they do.

    Neither probe asks a server: a worker that is restarted because another process is away is no help.

    Raises:
        OSError: The port is taken, or the address is none of this machine's.
    """
    settings, heartbeat = wiring.settings(), wiring.heartbeat()
    if settings.querymill_metrics_port is not None:
        serve_metrics(
            wiring.cache_client(),
            settings.querymill_metrics_port,
            host=settings.querymill_metrics_host,
            probes={
                "/healthz": lambda: "" if heartbeat.is_beating else "its heartbeat has stopped",
                "/readyz": lambda: _unready[0],
            },
        )


def give_up(error: Exception) -> NoReturn:
    """End the process, for its supervisor to start it again."""
    detail = wiring.settings().mask_secrets(str(error))[: logs.MAX_DETAIL_CHARS]
    _log.error("could not start", error=type(error).__name__, detail=detail)
    os._exit(os.EX_TEMPFAIL)


@worker_ready.connect
def begin(sender: Any, **_: Any) -> None:
    """Check the services, then start the background threads. If a check fails, end the process."""
    # Celery swallows exceptions of this signal, so a worker that must not run would keep running.
    try:
        start_upkeep()
        # What was loaded stays for good: looking through it for garbage again and again costs and finds nothing.
        gc.collect()
        gc.freeze()
        # Before the first step: what fails here ends the process.
        fleet_settings.publish(wiring.cache_client(), wiring.settings())
        take_up_work(sender)
        _unready[0] = ""
        _log.info("worker ready", name=wiring.heartbeat().life)
    except preflight.Unsafe as error:
        _log.error("refused to start", reason=str(error))
        os._exit(os.EX_CONFIG)
    except Exception as error:  # noqa: BLE001  # a service is unreachable: the supervisor restarts this worker
        give_up(error)


def start_upkeep() -> None:
    """Check the services, announce the collections and start the sweeper.

    Raises:
        Unsafe: With these services, jobs could be lost or mixed up.
    """
    settings, board, client = wiring.settings(), wiring.board(), wiring.cache_client()
    try:
        tracing.start("querymill-worker")
    except tracing.TracingNotInstalled as error:
        raise preflight.Unsafe(str(error)) from None
    preflight.refuse_unsafe(settings, board)
    ports = wiring.ports()
    announce_all(ports)
    name = wiring.heartbeat().life
    watch = BacklogWatch(ports, lambda: read_work(client, lives.read_lives(client)))
    election = Election(board, name)
    sweeper = Sweeper(
        ports,
        ring=ring_safely,
        elect=election.shards,
        name=name,
        backlog=watch,
        keep_minute=partial(fleet_history.keep_minute, client),
    )
    _upkeep.extend((sweeper, Announcer(ports), watch))
    for thread in _upkeep:
        thread.start()


def take_up_work(consumer: Any) -> None:
    """Tell the fleet which queues this process serves, and use all its threads.

    Raises:
        Unsafe: Nobody would take the bells of this pool.
    """
    threads, queues = consumer.pool.num_processes, consumer.app.amqp.queues
    if isinstance(consumer.pool, Threads):
        wiring.step_pool().widen(threads)
        sys.setswitchinterval(SWITCH_S)
        for listener in listeners_of(consumer.app, lambda: queues.consume_from):
            _upkeep.append(listener)
            listener.start()
    elif not is_redis(wiring.settings().broker_url):
        raise preflight.Unsafe("a broker other than Redis needs the pool of threads: start the worker with -P threads")
    step_pool = wiring.step_pool()
    wiring.heartbeat().describe(
        queues=list(queues.consume_from),
        slots=threads,
        # Only bells in Redis can be looked through.
        spare=step_pool.spare if is_redis(wiring.settings().broker_url) else 0,
        writes=wiring.settings().writes_answers,
        count_busy=lambda: step_pool.busy,
    )


def listeners_of(app: Any, queues: Callable[[], Iterable[str]]) -> Iterator[Listener]:
    """Return what takes the bells: from the broker, and those that the board keeps while the broker is away."""
    chosen, step_pool, collections_of = wiring.settings(), wiring.step_pool(), wiring.board().collections_of
    if is_redis(chosen.broker_url):
        yield BellListener(partial(open_broker, app), queues, step_pool, respond, collections_of)
    else:
        yield DeliveryListener(
            partial(app.connection_for_read, heartbeat=app.conf.broker_heartbeat), queues, step_pool, respond
        )
    if chosen.broker_url != chosen.redis_url:
        on_board = partial(open_commands, chosen.redis_url, max_connections=1, decode_responses=False)
        yield BellListener(on_board, queues, step_pool, respond, collections_of, source="board")


def open_broker(app: Any) -> redis.Redis:
    """Connect to the broker: as the board does, or as Celery does if that chooses among several addresses.

    Raises:
        kombu.exceptions.OperationalError: None of several addresses is reachable.
    """
    chosen = wiring.settings()
    if not has_alternates(chosen.broker_url):
        return open_commands(chosen.broker_url, max_connections=1, decode_responses=False)
    connection = app.connection_for_read()
    connection.ensure_connection(max_retries=1)
    with connection.default_channel.conn_or_acquire() as client:
        opened: redis.Redis = client
        return opened


def respond(bell: Bell) -> None:
    """Answer a bell in one of this process's threads."""
    wiring.step_pool().answer(bell, wiring.ports(), ring_all)


@worker_shutting_down.connect
def end(**_: Any) -> None:
    """Stop sweeping (another worker is elected within seconds) and flush the counters."""
    if _unready[0] == _STOPPING:
        return  # nor may a lock of what is stopped be asked for twice
    _unready[0] = _STOPPING
    for thread in _upkeep:
        thread.stop()
    wiring.fleet_counters().stop()


@worker_shutdown.connect
def end_life(**_: Any) -> None:
    """Wait for the steps that run, and put back what is held nevertheless: another worker repeats it at once.

    Then export the last spans.
    """
    wiring.step_pool().dismiss(within_s=SHUTDOWN_S)
    wiring.heartbeat().end()
    tracing.end()
