"""One log line for each job that ends. It holds no text of anybody, but the labels of its caller."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from querymill_shared.board.labels import shown_labels
from querymill_shared.board.picture import Ended

#: Called once for each job, in the process that ended it.
OnEnd: TypeAlias = Callable[[Ended], None]

_log = logging.getLogger(__name__)


def log_end(ended: Ended) -> None:
    """Log how a job ended, for processes that log through the standard library, such as clients that cancel a job."""
    said = f" [{shown_labels(ended.labels)}]" if ended.labels else ""
    _log.info("job %s (%s) ended after %d ms: %s%s", ended.job_id, ended.kind, ended.ms, ended.state, said)
