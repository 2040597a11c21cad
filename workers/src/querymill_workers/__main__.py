"""A worker as a process: ``python -P -m querymill_workers worker -Q search,expand,rerank``.

Celery's own ``-A querymill_workers.app`` looks for every module in the working folder first, where a file ``redis.py``
that has nothing to do with it stands in the way.
"""

import os
import sys

import structlog
from pydantic import ValidationError

from querymill_shared.contracts.errors import broken_rules
from querymill_shared.secret_files import UnreadableSetting
from querymill_workers import logs

_log = structlog.get_logger(__name__)


def main() -> int:
    """Run Celery's command line. Every line of the log is JSON, from the first on."""
    logs.configure("INFO")
    try:
        from querymill_workers.app import app
    except (ValidationError, UnreadableSetting) as error:
        reason = broken_rules(error) if isinstance(error, ValidationError) else str(error)
        _log.error("refused to start", reason=reason)
        return os.EX_CONFIG
    return int(app.start(sys.argv[1:]) or 0)


if __name__ == "__main__":
    sys.exit(main())
