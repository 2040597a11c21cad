"""What a worker process logs: one JSON object a line, no exception's message, and the same exception only seldom."""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import structlog

from querymill_shared.log_lines import log_instead_of_printing, one_line, type_of, types_and_places, utc_time
from querymill_shared.tracing import current_traceparent, trace_id_of
from querymill_shared.urls import mask_text

#: Exceptions of one type from one place are logged at most this often, in seconds. The next line counts the others.
REPEAT_S: Final = 10.0
#: Of what a server said, so many characters are logged.
MAX_DETAIL_CHARS: Final = 500
#: So many types and places are remembered.
_REMEMBERED: Final = 1_000

_log = structlog.get_logger(__name__)


class Repeats:
    """Admits some of the exceptions of one type from one place, and counts the others. ``clock`` returns seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def left_out(self, error: BaseException) -> int | None:
        """Return how many like this were left out since the last one was admitted, or None to leave this one out."""
        key, now = (type_of(error), place_of(error)), self._clock()
        with self._lock:
            admitted, since = self._seen.get(key, (float("-inf"), 0))
            if now - admitted < REPEAT_S:
                self._seen[key] = (admitted, since + 1)
                return None
            if key not in self._seen and len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen[key] = (now, 0)
            return since


def configure(level_name: str) -> None:
    """Log one JSON object per line. Questions and passages never appear above DEBUG."""
    level = logging.getLevelNamesMapping()[level_name]
    shared, repeats = common_processors(level), Repeats()
    drop: list[structlog.typing.Processor] = [] if level <= logging.DEBUG else [seldom(repeats)]
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *drop, *shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # The factory of printing loggers writes a line and its end one by one, and lines of processes mix.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler()
    if level > logging.DEBUG:
        handler.addFilter(SeldomRecords(repeats))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=[
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(allow=["left_out"]),
                *shared,
            ],
        )
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)
    log_instead_of_printing(_warned, _process_broke)
    threading.excepthook = _thread_broke
    sys.unraisablehook = _ignored


def common_processors(level: int) -> list[structlog.typing.Processor]:
    """Return the processors of every log line, including those of libraries. Full tracebacks appear at DEBUG only."""
    in_full, briefly = structlog.processors.format_exc_info, structlog.processors.ExceptionRenderer(type_and_place)
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        in_full if level <= logging.DEBUG else briefly,
        with_trace,
        without_secrets,
    ]


def with_trace(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Add the id of the trace that a line is about, if there is one."""
    traceparent = current_traceparent()
    return {**event, "trace_id": trace_id_of(traceparent)} if traceparent else event


def seldom(repeats: Repeats) -> structlog.typing.Processor:
    """Return a processor that drops a line with an exception that was logged a moment ago."""

    def process(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        error = _error_of(event.get("exc_info"))
        if error is None:
            return event
        left_out = repeats.left_out(error)
        if left_out is None:
            raise structlog.DropEvent
        return {**event, "left_out": left_out} if left_out else event

    return process


class SeldomRecords(logging.Filter):
    """The same for the lines of libraries. Of a message only the pattern is kept: its values may quote user text."""

    def __init__(self, repeats: Repeats) -> None:
        super().__init__()
        self._repeats = repeats

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record."""
        error = _error_of(record.exc_info)
        if error is None:
            return True
        left_out = self._repeats.left_out(error)
        if left_out is None:
            return False
        if left_out:
            record.left_out = left_out
        record.msg, record.args = str(record.msg).partition("\n")[0], None
        return True


def _error_of(exc_info: Any) -> BaseException | None:
    match exc_info:
        case BaseException():
            return exc_info
        case (_, BaseException() as error, _):
            return error
        case True:
            return sys.exc_info()[1]
        case _:
            return None


def without_secrets(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Return a log line without the secrets of the addresses it quotes, because drivers log their own errors."""
    return {name: mask_text(value) if isinstance(value, str) else value for name, value in event.items()}


def type_and_place(exc_info: structlog.typing.ExcInfo) -> list[str]:
    """Return the types, causes and places of an exception."""
    return types_and_places(exc_info[1])


def place_of(error: BaseException) -> str:
    """Return the line of code where an exception was raised, or "" if it was not."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def say(message: str, *_: Any) -> None:
    """Log what a handler of signals says, past the stream: it may have interrupted the writing of another line."""
    line = {"event": one_line(message), "level": "warning", "timestamp": utc_time(time.time())}
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{json.dumps(line)}\n".encode())


def _warned(message: str, category: str) -> None:
    _log.warning(message, category=category)


def _process_broke(error: BaseException) -> None:
    _log.error("the process broke", exc_info=error)


def _thread_broke(broken: threading.ExceptHookArgs) -> None:
    if broken.exc_value is not None and not isinstance(broken.exc_value, SystemExit):
        name = None if broken.thread is None else broken.thread.name
        _log.error("a thread broke", thread=name, exc_info=broken.exc_value)


def _ignored(broken: Any) -> None:
    if broken.exc_value is not None:
        _log.error("an exception nobody could catch", exc_info=broken.exc_value)
