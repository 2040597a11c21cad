"""Controls: one guard is switched off, and the table must show what that costs."""

from tests.faults.table.lines import ALONE, line
from tests.faults.table.servers import lose_bells
from tests.faults.table.stage import Stage
from tests.faults.table.workers import freeze_worker, kill_workers


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


@line(
    "control: no fence", "workers are frozen beyond their lease, wake, and end steps that others hold", on=ALONE,
    app="tests.fakes.worker_without_fence", is_control=True,
)  # fmt: skip
def freeze_without_fence(stage: Stage) -> None:
    """Freeze one."""
    freeze_worker(stage)


@line(
    "control: no versions", "workers are frozen beyond their lease, wake, and write without lock or version", on=ALONE,
    app="tests.fakes.worker_without_versions", is_control=True,
)  # fmt: skip
def freeze_without_versions(stage: Stage) -> None:
    """Freeze one."""
    freeze_worker(stage)
