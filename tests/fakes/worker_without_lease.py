"""The workers' app without the end of leases: what a worker held that died is never given to another.

The control of the fault table: jobs are stuck under it.
"""

from querymill_shared.board import ValkeyBoard, calls
from querymill_workers import app as workers_app

_release = ValkeyBoard.release_life


def _only_planned(self: ValkeyBoard, life: str, *, planned: bool = False) -> list[tuple[str, str]]:
    return _release(self, life, planned=True) if planned else []


# Sabotage is the purpose.
calls.HELD_S = 3_600.0
ValkeyBoard.release_life = _only_planned  # type: ignore[method-assign]
app = workers_app.app
