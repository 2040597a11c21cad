"""The logs of a worker process and its background threads, set up by Celery's signals."""

import logging
import os
import socket
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import structlog
from celery.signals import setup_logging, worker_ready, worker_shutting_down

from querymill_shared import metrics
from querymill_shared.addresses import mask_text
from querymill_workers import preflight, wiring
from querymill_workers.dispatch.announce import announce_all
from querymill_workers.dispatch.sweeper import TERM_S, Sweeper
from querymill_workers.tasks import ring

_log = structlog.get_logger(__name__)
_sweepers: list[Sweeper] = []


@setup_logging.connect
def log_as_json(**_: Any) -> None:
    """Log one JSON object per line. Questions and passages never appear above DEBUG."""
    level = logging.getLevelNamesMapping()[wiring.settings().querymill_log_level]
    shared = common_processors(level)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
        )
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)


def common_processors(level: int) -> list[structlog.typing.Processor]:
    """Return the processors of every log line, including those of libraries. Full tracebacks appear at DEBUG only."""
    in_full, briefly = structlog.processors.format_exc_info, structlog.processors.ExceptionRenderer(type_and_place)
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        in_full if level <= logging.DEBUG else briefly,
        without_secrets,
    ]


def without_secrets(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Return a log line without the secrets of the addresses it quotes, because drivers log their own errors."""
    return {name: mask_text(value) if isinstance(value, str) else value for name, value in event.items()}


def type_and_place(exc_info: structlog.typing.ExcInfo) -> list[str]:
    """Return the types, causes and places of an exception. Its message is left out, because it may quote user text."""
    return [line for error in causes(exc_info[1]) for line in (*frames(error), type_of(error))]


def causes(error: BaseException) -> list[BaseException]:
    """Return an exception and its causes, in the order in which they were raised."""
    chain: list[BaseException] = []
    known: BaseException | None = error
    while known is not None and known not in chain:
        chain.append(known)
        known = known.__cause__ or (None if known.__suppress_context__ else known.__context__)
    return chain[::-1]


def frames(error: BaseException) -> Iterator[str]:
    """Yield the lines of code that an exception passed through."""
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"{frame.filename}:{frame.lineno} {frame.name}"


def type_of(error: BaseException) -> str:
    """Return the type of an exception, with the database's error code if it has one."""
    state = getattr(error, "sqlstate", None)
    return type(error).__name__ + (f" (SQLSTATE {state})" if state else "")


@worker_ready.connect
def begin(**_: Any) -> None:
    """Check the services, then start the background threads. If a check fails, end the process."""
    # Celery swallows exceptions of this signal, so a worker that must not run would keep running.
    try:
        start_upkeep()
    except preflight.Unsafe as error:
        _log.error("refused to start", reason=str(error))
        os._exit(os.EX_CONFIG)
    except Exception as error:  # noqa: BLE001  # a service is unreachable: the supervisor restarts this worker
        detail = wiring.settings().mask_secrets(str(error))[:200]
        _log.error("could not start", error=type(error).__name__, detail=detail)
        os._exit(os.EX_TEMPFAIL)


def start_upkeep() -> None:
    """Check the services, announce the collections and start the sweeper.

    Raises:
        Unsafe: With these services, jobs could be lost or mixed up.
    """
    settings, board = wiring.settings(), wiring.board()
    if settings.querymill_metrics_port is not None:
        metrics.serve(wiring.cache_client(), settings.querymill_metrics_port)
    preflight.refuse_unsafe(settings, board, wiring.embedding_profile(settings).dimensions)
    ports = wiring.ports()
    announce_all(ports)
    name = f"{socket.gethostname()}:{os.getpid()}"
    sweeper = Sweeper(ports, ring=ring, elect=lambda: board.elect(name, term_s=TERM_S))
    _sweepers.append(sweeper)
    sweeper.start()
    _log.info("worker ready", name=name)


@worker_shutting_down.connect
def end(**_: Any) -> None:
    """Stop sweeping (another worker is elected within seconds) and flush the counters."""
    for sweeper in _sweepers:
        sweeper.stop()
    wiring.meters().stop()
