"""Some schedules of the simulation, each part in a process of its own, whose clock and threads it has."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def simulate(*arguments: str) -> str:
    """Run the command of the simulation, and return what it prints."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-4_000:]
    return ran.stdout


@pytest.mark.parametrize("part", range(4))
def test_no_schedule_breaks_a_promise(part: int) -> None:
    assert "0 failed" in simulate("--seeds", f"{part * PART}:{(part + 1) * PART}")


@pytest.mark.parametrize(("seed", "before"), [(11, 2), (413_255, 55)])
def test_a_seed_gives_the_same_schedule_in_every_process_and_place(seed: int, before: int) -> None:
    first, second = (
        simulate("--seeds", f"{begin}:{seed + 3}", "--verbose").splitlines()[:-1] for begin in (seed, seed - before)
    )
    assert len(first) == 3
    assert first == second[before:]


ONE_THAT_RAISES = """
from tests.simulation.plans import plan_of
from tests.simulation.schedule import Schedule, simulating
from tests.simulation.scheduler import Process
from tests.simulation.threads import under
with simulating() as settings:
    schedule = Schedule(plan_of(3), settings)
    with under(schedule.scheduler):
        schedule.scheduler.spawn(Process("odd"), lambda: 1 / 0, "odd", after=1_000)
        print([broken.promise for broken in schedule.run().broken])
"""


def test_an_error_that_ends_a_thread_breaks_a_promise_of_its_schedule_alone() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ONE_THAT_RAISES], cwd=ROOT, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert ran.stdout == "['no thread ends of an error']\n"


#: Schedules of one part.
PART = 500
