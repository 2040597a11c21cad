"""The workers' app without a sweeper: nobody is ever elected. The control of the fault tests loses jobs under it."""

from querymill_shared.board import ValkeyBoard
from querymill_workers import app as workers_app


def _never(self: ValkeyBoard, candidate: str, shards: str, *, term_s: float) -> str:
    return ""


# Sabotage is the purpose.
ValkeyBoard.elect = _never  # type: ignore[assignment, method-assign]
app = workers_app.app
