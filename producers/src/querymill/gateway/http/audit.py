"""The audit: one line per write and deletion: who, what, when. No text of anybody is in it."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from querymill.gateway.http.log_lines import AUDIT
from querymill.keys import ApiKey

_log = logging.getLogger(AUDIT)


def note(caller: ApiKey, action: str, *, request_id: str, **what: Any) -> None:
    """Write who did what, and when."""
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "key": caller.id,
        "name": caller.name,
        "action": action,
        "request_id": request_id,
    }
    # A program that uses the gateway as a library may have the message alone.
    _log.info("%s", json.dumps(line | what), extra={"fields": {"event": "audit"} | line | what})
