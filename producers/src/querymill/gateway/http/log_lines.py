"""What a gateway logs: JSON objects, one a line, with the ids of request and trace, without exceptions' messages."""

import json
import logging
from contextvars import ContextVar
from typing import Any, Final

from querymill_shared.log_lines import log_instead_of_printing, types_and_places, utc_time
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
            "timestamp": utc_time(record.created),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        if trace_id := trace_id_of(current_traceparent()):
            line["trace_id"] = trace_id
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = types_and_places(record.exc_info[1])
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False)


def log_as_json(level_name: str) -> None:
    """Log to standard error from now on. The audit is written at any level, a line for each request from INFO down."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    level = logging.getLevelNamesMapping()[level_name]
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)
    logging.getLogger(AUDIT).setLevel(logging.INFO)
    logging.getLogger(ACCESS).setLevel(level)
    logging.getLogger("querymill.gateway").setLevel(level)
    log_instead_of_printing(_warned, _process_broke)


def _warned(message: str, category: str) -> None:
    _log.warning("%s", message, extra={"fields": {"category": category}})


def _process_broke(error: BaseException) -> None:
    _log.error("the process broke", exc_info=error)
