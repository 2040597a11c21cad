"""The audit: one line of JSON per write and deletion: who, what, when. No text of anybody is in it."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from querymill.keys import ApiKey

_log = logging.getLogger("querymill.audit")


def note(caller: ApiKey, action: str, *, request_id: str, **what: Any) -> None:
    """Write who did what, and when."""
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "key": caller.id,
        "name": caller.name,
        "action": action,
        "request_id": request_id,
    }
    _log.info("%s", json.dumps(line | what))
