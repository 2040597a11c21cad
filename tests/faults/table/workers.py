"""Lines about workers: killed, frozen, ended, and of two releases."""

from tests.faults.table.lines import line
from tests.faults.table.stage import Stage
from tests.fixtures.faults import freeze, thaw


@line("calm", "nothing; what every other line is compared with")
def nothing(stage: Stage) -> None:
    """Let some time pass."""
    stage.pause(1, 2)


@line("workers killed", "kill -9 of a worker, which is started again while the others go on")
def kill_worker(stage: Stage) -> None:
    """Kill one."""
    victim = stage.any_worker()
    victim.kill()
    stage.start_soon(victim)


@line("all workers killed", "kill -9 of all workers at once, which are started again")
def kill_workers(stage: Stage) -> None:
    """Kill all."""
    stage.await_starts()
    for worker in stage.workers:
        worker.kill()
    for worker in stage.workers:
        stage.start_soon(worker)
    stage.await_starts()


@line("workers frozen", "SIGSTOP of a worker for 6 to 14 s, beyond its lease of 4 s; then it wakes, and writes")
def freeze_worker(stage: Stage) -> None:
    """Freeze one, and let it go on."""
    victim = stage.any_worker()
    freeze(victim)
    try:
        stage.pause(6, 14)
    finally:
        thaw(victim)
