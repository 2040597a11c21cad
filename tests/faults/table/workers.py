"""Lines about workers and the gateway: killed, frozen, ended, and of two releases."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.table.lines import line
from tests.faults.table.stage import Stage, former_environment, replaced
from tests.fixtures.clocks import SteppedClock
from tests.fixtures.faults import WAITING, freeze, thaw
from tests.fixtures.releases import QUIET


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


@line(
    "children killed", "a worker with a pool of three processes stands in for one, and loses a child to kill -9 three"
    " times", on=("valkey", "cluster"),
)  # fmt: skip
def kill_children(stage: Stage) -> None:
    """Kill one child after another; the pool starts others. RabbitMQ is served by threads alone."""
    with replaced(stage, {}, "-P", "prefork", "-c", "3") as other:
        assert other.process is not None
        for _ in range(3):
            stage.pause(1, 2)
            stage.chances.choice(other.process.children()).kill()
        stage.pause(1, 2)


@line("workers frozen", "SIGSTOP of a worker for 6 to 14 s, beyond its lease of 4 s; then it wakes, and writes")
def freeze_worker(stage: Stage) -> None:
    """Freeze one, and let it go on."""
    victim = stage.any_worker()
    freeze(victim)
    try:
        stage.pause(6, 14)
    finally:
        thaw(victim)


@line(
    "workers ended in a commit", "SIGTERM of a worker that waits for a lock inside a transaction; then the lock is free"
)
def end_in_commit(stage: Stage) -> None:
    """Hold a table until a worker waits for it, and end that worker."""
    victim = stage.any_worker()
    assert victim.process is not None
    others = [worker for worker in stage.workers if worker is not victim]
    for other in others:
        freeze(other)
    try:
        with stage.database() as barrier, barrier.transaction():
            barrier.execute("LOCK TABLE word_entries IN ACCESS EXCLUSIVE MODE")
            _await_a_waiter(stage)
            victim.process.terminate()
    finally:
        for other in others:
            thaw(other)
    victim.terminate()
    stage.start_soon(victim)


def _await_a_waiter(stage: Stage) -> None:
    """Wait until somebody waits for a lock, for some seconds: there may be no write just now."""
    until = time.monotonic() + 3
    with stage.database() as looking:
        while time.monotonic() < until:
            if looking.execute(WAITING).fetchone() != (0,):
                return
            time.sleep(0.02)


@line(
    "two releases", "a worker is ended and replaced by one of the last release, and that by one of this one again",
    spares={"a complete result is right"},  # its ranking may be another
    on=("valkey", "cluster"),  # the last one declared queues of RabbitMQ in another shape
)  # fmt: skip
def roll(stage: Stage) -> None:
    """Replace one, and go back."""
    with replaced(stage, former_environment(stage), *QUIET):
        stage.pause(2, 4)


@line("gateway killed", "kill -9 of the gateway of a client, which is started again after up to 2 s", whole_fleet=True)
def kill_gateway(stage: Stage) -> None:
    """Kill it, and start it."""
    stage.own_gateway.process.kill()
    stage.pause(0.2, 2)
    stage.start_gateway()


@line("a worker's clock", "the clock of a worker is set an hour ahead, then an hour back, then five seconds back")
def step_worker(stage: Stage) -> None:
    """Step it, and put it right."""
    with TemporaryDirectory(prefix="qm-clock-") as folder:
        clock = SteppedClock(Path(folder))
        # A worker that is forked would have loaded its clock before.
        with replaced(stage, clock.environment | {"PYTHONPATH": ""}):
            for seconds in (3_600, -3_600, -5, 0):
                clock.step(seconds)
                stage.pause(1, 2)
