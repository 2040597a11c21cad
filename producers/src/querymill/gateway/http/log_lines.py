"""What a gateway logs: JSON objects, one a line, with the id of the request and without messages of exceptions."""

import json
import logging
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

from querymill_shared.tracing import current_traceparent, trace_id_of
from querymill_shared.urls import mask_text

#: The id of the request that this task serves.
REQUEST_ID: Final[ContextVar[str]] = ContextVar("request_id", default="")
AUDIT, ACCESS = "querymill.audit", "querymill.access"
_log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """Formats a record as a worker does: event, level, logger, timestamp, and the ``fields`` that the record has."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line. Of an exception it names the types and the places: its message may quote user text."""
        line: dict[str, Any] = {
            "event": mask_text(record.getMessage()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        if traceparent := current_traceparent():
            line["trace_id"] = trace_id_of(traceparent)
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = list(_places(record.exc_info[1]))
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False)


def _places(error: BaseException) -> Iterator[str]:
    """Yield the lines of code that an exception passed through, and its type, then those of its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        for frame in traceback.extract_tb(cause.__traceback__):
            yield f"{frame.filename}:{frame.lineno} {frame.name}"
        yield f"{type(cause).__module__}.{type(cause).__qualname__}"
        cause = cause.__cause__ or cause.__context__


def log_as_json(level_name: str) -> None:
    """Log to standard error from now on. The audit is written at any level, a line for each request from INFO down."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    level = logging.getLevelNamesMapping()[level_name]
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)
    logging.getLogger(AUDIT).setLevel(logging.INFO)
    logging.getLogger(ACCESS).setLevel(level)
    logging.getLogger("querymill.gateway").setLevel(level)
    warnings.showwarning = _warned
    sys.excepthook = _process_broke


def _warned(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    _log.warning("%s", " ".join(str(message).split()), extra={"fields": {"category": category.__name__}})


def _process_broke(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if not isinstance(error, KeyboardInterrupt):
        _log.error("the process broke", exc_info=(kind, error, trace))
