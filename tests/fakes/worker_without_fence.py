"""The workers' app without the fence: an attempt that lost its step may still close it.

The control of the fault table: a worker that wakes after its lease ends the step of another under it.
"""

from querymill_shared.board import scripts
from querymill_workers import app as workers_app

_FENCE = "return state == 'running' and attempt == ARGV[first + 1]"
_read = scripts._read


def _without_fence(name: str) -> str:
    text = _read(name)
    assert name != "prelude" or _FENCE in text
    return text.replace(_FENCE, "return true")


# Sabotage is the purpose.
scripts._read = _without_fence
app = workers_app.app
