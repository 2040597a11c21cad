"""Controls: one guard is switched off, and the table must show what that costs. Two more are beside their lines."""

from tests.faults.table.lines import ALONE, line
from tests.faults.table.servers import lose_bells
from tests.faults.table.stage import Stage
from tests.faults.table.workers import kill_workers


@line(
    "control: no sweeper", "all workers are killed, bells are lost, and nobody rings again", on=ALONE,
    app="tests.fakes.worker_without_sweeper", is_control=True,
)  # fmt: skip
def kill_without_sweeper(stage: Stage) -> None:
    """Kill all, and lose the bells."""
    kill_workers(stage)
    lose_bells(stage)


@line(
    "control: no lease", "all workers are killed, and what they held is never given to others", on=ALONE,
    app="tests.fakes.worker_without_lease", is_control=True,
)  # fmt: skip
def kill_without_lease(stage: Stage) -> None:
    """Kill all."""
    kill_workers(stage)
