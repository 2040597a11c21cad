"""Many writers of the same documents on real workers: the stores hold what the accepted writes give in their order.

Writers put, update, drop by id and by a filter, and drop everything at once; bells are lost and rung again later;
workers are killed: 500 steps, with ``make faults`` 10,000, in turn with each kind of document.

Alone: ``python -m tests.faults -k in_their_order``. After `WRITING_S` no write is begun any more, so the line of JSON
at its end comes in any case. It counts the writes that were accepted.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle
from typing import Any, Final
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from querymill import UnknownJob
from querymill_shared.board import ValkeyBoard, keys
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.doorbell import Doorbell
from querymill_workers.postgres.connection import open_pool
from querymill_workers.stores import modules_in
from tests.fixtures.faults import Ground
from tests.fixtures.own_services import WRITING_S
from tests.fixtures.tallies import Tally
from tests.fixtures.writes import SHAPES, Kind, Write, kinds_of, state_after, word_of

pytestmark = pytest.mark.timeout(3600)

#: Steps of one run of the machine; each run has a collection of its own, and is compared with the model at its end.
STEPS: Final = 50
DOCUMENTS: Final = ("a", "b", "c")
PARTS: Final = ("p", "q", "r", "s")
TEAMS: Final = ("red", "blue")
#: Everything is dropped by one write of so many.
CLEARS: Final = 25
#: A worker may be killed once in so many writes, as it takes seconds to start another.
KILLS: Final = 150
#: Runs of the control until something must have gone wrong.
MOST_CONTROLS: Final = 5
#: The reader of a failed test wants to see some documents, not hundreds.
MOST_SHOWN: Final = 5
#: Runs that are written and not compared yet. The next run begins while the workers finish these.
OPEN_RUNS: Final = 4


@dataclass
class Arena:
    """The servers and workers of all runs, and what was wrong in them."""

    ground: Ground
    board: ValkeyBoard
    kinds: Mapping[Retriever, Kind]
    tally: Tally
    words: int = 0
    steps: int = 0
    writes_since_kill: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + WRITING_S)
    wrong: list[str] = field(default_factory=list)
    open_runs: deque[tuple[str, Kind, Mapping[str, Write]]] = field(default_factory=deque)
    starting: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.turns = cycle(self.kinds.values())
        self.doorbell = Doorbell.connect(self.ground.settings)

    def submit(self, collection: str, write: Write, *, rings: bool) -> tuple[str, JobRequest, Write]:
        """Have a write accepted, with a bell or without. Return it with the moment of its acceptance."""
        self.writes_since_kill += 1
        request = self.kinds[write.kind].request(collection, write)
        job_id = self.ground.mill.submit(request).id if rings else self.board.submit(request)[0]
        return job_id, request, replace(write, accepted=(self._accepted_us(job_id), job_id))

    def ring(self, job_id: str, request: JobRequest) -> None:
        """Ring the bell of a write that was lost."""
        self.doorbell.ring(job_id, request)

    def kill_now_and_then(self) -> None:
        """Kill a worker and start it again, if none was killed for some time. The other one works on meanwhile."""
        # Not a rule of the machine: whether it is time depends on other runs, which hypothesis takes for flaky.
        if self.writes_since_kill > KILLS:
            self.writes_since_kill = 0
            self.await_start()
            victim = self.ground.workers[self.ground.chances.randrange(len(self.ground.workers))]
            victim.kill()
            self.starting = threading.Thread(target=victim.start)
            self.starting.start()

    def await_start(self) -> None:
        """Wait for the worker that is starting."""
        if self.starting is not None:
            self.starting.join()

    def close(self) -> None:
        """Wait for what is under way."""
        self.await_start()
        self.doorbell.close()

    def compare_oldest(self, *, leave: int) -> None:
        """Compare what was written, the oldest first, until so many runs are left."""
        while len(self.open_runs) > leave:
            self.compare(*self.open_runs.popleft())

    def compare(self, collection: str, kind: Kind, jobs: Mapping[str, Write]) -> None:
        """Wait for all writes, and note what the stores hold that they should not, or lack."""
        self.tally.submitted += len(jobs)
        for job_id, state in self._ends(jobs, within_s=300).items():
            if state not in ("done", "forgotten"):
                self.tally.lost += 1
                self.wrong.append(f"{jobs[job_id]} ended as {state}")
        writes = sorted(jobs.values(), key=lambda write: write.accepted)
        expected = state_after(writes)
        for document in DOCUMENTS:
            stored, wanted = kind.stored(collection, document), expected.get(document)
            own = [write for write in writes if write.is_about(document)]
            words = {text.split()[0] for write in own for text in write.parts.values()}
            found = {word for word in words if document in kind.found(collection, word)}
            wanted_words = {text.split()[0] for text in wanted.parts.values()} if wanted else set()
            is_right = stored is None if wanted is None else wanted.is_like(stored)
            if is_right and found == wanted_words:
                continue
            self.tally.lost += bool(wanted_words - found) or not is_right
            self.tally.doubled += bool(found - wanted_words)
            story = "\n".join(f"  {write}" for write in own)
            self.wrong.append(f"{kind.name}: wanted {wanted}\nstored {stored}\nfound {found}\n{story}")

    def _accepted_us(self, job_id: str) -> int:
        """Read when the board accepted a job; a record tells it to the millisecond."""
        value: Any = self.ground.client.hget(keys.of_job(job_id, "job")[0], "accepted")
        return int(value)

    def _ends(self, job_ids: Mapping[str, Write], *, within_s: float) -> dict[str, str]:
        """Wait for jobs; return their states. A drop deletes what ended and holds a text that it forgets."""
        deadline = time.monotonic() + within_s
        return {job_id: self._end(job_id, deadline) for job_id in job_ids}

    def _end(self, job_id: str, deadline: float) -> str:
        while True:
            try:
                record = self.ground.mill.job(job_id).picture().record
            except UnknownJob:
                return "forgotten"
            if record.is_over or time.monotonic() > deadline:
                return record.state if record.state == "done" else str(record)
            time.sleep(0.05)


class Writers(RuleBasedStateMachine):
    """One run: writes to a few documents of a kind, in a new collection."""

    def __init__(self, arena: Arena) -> None:
        super().__init__()
        self.arena = arena
        self.kind = next(arena.turns)
        self.collection = f"w{uuid4().hex[:12]}"
        self.jobs: dict[str, Write] = {}
        self.unrung: list[tuple[str, JobRequest]] = []

    @rule(
        number=st.integers(1, 2 * CLEARS * 7 * 8), document=st.sampled_from(DOCUMENTS), team=st.sampled_from(TEAMS),
        rings=st.sampled_from([True, True, False]),
        parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=3, unique=True),
    )  # fmt: skip
    def write(self, number: int, document: str, team: str, parts: list[str], rings: bool) -> None:
        """Have a write accepted. Some bells are lost."""
        if time.monotonic() > self.arena.until:
            return
        deeds = SHAPES[self.kind.name].deeds
        deed = "clear" if number % CLEARS == 0 else deeds[number % len(deeds)]
        texts = {}
        for part in parts if deed in ("put", "update") else []:
            self.arena.words += 1
            texts[part] = f"{word_of(self.arena.words)} {part}"
        write = Write(self.kind.name, document, deed, texts, team)
        job_id, request, accepted = self.arena.submit(self.collection, write, rings=rings)
        self.jobs[job_id] = accepted
        if not rings:
            self.unrung.append((job_id, request))
        self.arena.steps += 1
        self.arena.kill_now_and_then()

    @precondition(lambda self: len(self.unrung) > 1)
    @rule(which=st.integers(0, STEPS))
    def ring_late(self, which: int) -> None:
        """A bell that was lost rings after all."""
        self.arena.ring(*self.unrung.pop(which % len(self.unrung)))
        self.arena.steps += 1

    def teardown(self) -> None:
        """Ring what was lost, and have it compared."""
        if len(self.arena.wrong) < MOST_SHOWN:
            for job_id, request in self.unrung:
                self.arena.ring(job_id, request)
            self.arena.open_runs.append((self.collection, self.kind, self.jobs))
            self.arena.compare_oldest(leave=OPEN_RUNS)


@pytest.fixture
def kinds(database_url: str) -> Iterator[Mapping[Retriever, Kind]]:
    with open_pool(database_url, max_size=4) as pool:
        yield kinds_of(pool, modules_in("", pool))


def let_them_write(arena: Arena, *, steps: int) -> None:
    """Run the machine until it has taken so many steps, or its time is over."""
    wanted = arena.steps + steps
    while arena.steps < wanted and time.monotonic() < arena.until and not arena.wrong:
        # Shrinking would repeat what two processes did by chance; what was wrong is noted instead of raised. A run
        # may be shorter than it is asked for.
        chosen = settings(
            max_examples=max(1, (wanted - arena.steps) // STEPS), stateful_step_count=STEPS, deadline=None,
            suppress_health_check=list(HealthCheck), phases=(Phase.generate,), derandomize=False, database=None,
        )  # fmt: skip
        run_state_machine_as_test(partial(Writers, arena), settings=chosen)  # type: ignore[arg-type]  # makes one
    arena.compare_oldest(leave=0)


@pytest.mark.nightly  # by day: the newest write stands, in tests/simulation
def test_the_stores_hold_what_the_accepted_writes_give_in_their_order(
    ground: Ground, kinds: Mapping[Retriever, Kind], tally_of: Callable[..., Tally]
) -> None:
    tally = tally_of("writers")
    arena = Arena(ground, ValkeyBoard.connect(ground.settings), kinds, tally)
    with closing(arena.board), ground.fleet(2), closing(arena):
        # An example is a bell elsewhere; here it is five writes.
        let_them_write(arena, steps=5 * settings.default.max_examples)  # type: ignore[union-attr]
    print(f"{arena.steps} steps")
    assert not arena.wrong, "\n\n".join(arena.wrong[:MOST_SHOWN])
    assert (tally.lost, tally.doubled) == (0, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", SHAPES)
def test_the_machine_notices_workers_that_ignore_versions(
    ground: Ground, kinds: Mapping[Retriever, Kind], tally_of: Callable[..., Tally], kind: Retriever
) -> None:
    """The control: what is wrong is found with each kind."""
    tally = tally_of(f"writers, {kind} without versions", is_control=True)
    arena = Arena(ground, ValkeyBoard.connect(ground.settings), {kind: kinds[kind]}, tally)
    with (
        closing(arena.board),
        ground.fleet(2, app="tests.fakes.worker_without_versions"),
        closing(arena),
    ):
        for _ in range(MOST_CONTROLS):
            let_them_write(arena, steps=STEPS)
            if arena.wrong:
                break
    assert arena.wrong
    assert tally.lost + tally.doubled > 0
