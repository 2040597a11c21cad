"""Controls: one guard is switched off, and the table must show what that costs."""

from tests.faults.table.lines import ALONE, line
from tests.faults.table.stage import Stage
from tests.faults.table.workers import kill_workers


@line(
    "control: no sweeper", "all workers killed, and nobody rings again for what they held", on=ALONE,
    app="tests.fakes.worker_without_sweeper", is_control=True,
)  # fmt: skip
def kill_without_sweeper(stage: Stage) -> None:
    """Kill all."""
    kill_workers(stage)


@line(
    "control: no versions", "workers frozen and killed, whose writes lock nothing and know no version", on=ALONE,
    app="tests.fakes.worker_without_versions", is_control=True,
)  # fmt: skip
def kill_without_versions(stage: Stage) -> None:
    """Kill all."""
    kill_workers(stage)
