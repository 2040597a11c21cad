"""Lines of the table, run one after another on the same servers: each run's history is checked and counted."""

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import redis

from querymill import Querymill, UnknownJob
from querymill_shared.board import keys
from tests.faults.histories.counting import Counts, count
from tests.faults.histories.promises import accepted_jobs
from tests.faults.table.clients import Client, together, trail_of
from tests.faults.table.library import KINDS, Library, Shelf
from tests.faults.table.lines import APP, Line
from tests.faults.table.recording import Countdown, Recorder
from tests.faults.table.stage import Servers, Stage, open_stage

#: The last of them reaches the board through a gateway.
CLIENTS: Final = 3
#: Each client, as a process of a backend, has some threads that ask.
CALLERS: Final = 6
#: Each fault is met so often at least, even if the jobs are done before.
LEAST_FAULTS: Final = 3
#: Jobs for each document of the shelf: about a fifth of the jobs writes one.
JOBS_A_DOCUMENT: Final = 60
#: A client waits so long for a job, and the run for all, in seconds. In a control much will not come.
PATIENCE_S: Final = 240.0
CONTROL_PATIENCE_S: Final = 20.0
CONTROL_WAITS_S: Final = 15.0
WAITS_S: Final = 180.0
_LAST_WORDS: Final = 4


@dataclass
class House:
    """Servers on which lines are run, their clients, and a library whose answers are known."""

    stage: Stage
    library: Library
    mills: list[Querymill]

    def clients(self, shelf: Shelf, recorder: Recorder, *, seed: int, patience_s: float = PATIENCE_S) -> list[Client]:
        """Return the callers of all clients, and give the stage witnesses for its faults."""

        def client(name: str, mill: Querymill) -> Client:
            chances, model = random.Random(f"{seed} {name}"), self.stage.settings.embedding_model
            return Client(name, mill, model, chances, self.library, shelf, recorder, patience_s)

        self.stage.witnesses = [client(f"w{number}", self.mills[0]) for number in range(len(KINDS))]
        return [
            client(f"c{number}.{caller}", mill) for number, mill in enumerate(self.mills) for caller in range(CALLERS)
        ]


@contextmanager
def open_house(servers: Servers, *, seed: int) -> Iterator[House]:
    """Start servers and workers, and fill the library while all is well."""
    with open_stage(servers, seed=seed) as stage:
        stage.hire(app=APP, settings={})
        stage.start_gateway()
        mills = [stage.mill() for _ in range(CLIENTS - 1)] + [stage.mill(through_gateway=True)]
        house = House(stage, Library(f"library-{uuid4().hex[:8]}"), mills)
        (librarian, *_) = house.clients(Shelf("", []), Recorder(), seed=seed)
        house.library.fill(librarian.ask)
        house.library.learn(librarian.ask)
        yield house


@dataclass
class Run:
    """A line that is being run."""

    line: Line
    stage: Stage
    recorder: Recorder = field(default_factory=Recorder)
    faults: int = 0
    broken: list[str] = field(default_factory=list)

    def inflict_during(self, countdown: Countdown) -> None:
        """Bring the fault about again and again, with some time between, while jobs are submitted."""
        while not countdown.is_over:
            self.stage.pause(1, 3)
            try:
                with self.recorder.during(self.line.name):
                    self.line.inflict(self.stage)
            except Exception as error:  # noqa: BLE001  # a fault that did not come about is a defect of the table
                self.broken.append(f"{type(error).__name__}: {error}"[-1_500:])
                return
            self.faults += 1

    def work(self, clients: list[Client], jobs: int) -> None:
        """Let the clients work while the fault comes about."""
        countdown = Countdown(jobs, lambda: self.faults >= LEAST_FAULTS or bool(self.broken))
        inflicting = threading.Thread(target=self.inflict_during, args=(countdown,))
        inflicting.start()
        try:
            together([partial(client.work, countdown) for client in clients])
        finally:
            inflicting.join()
        self.stage.await_starts()

    def look_back(self, clients: list[Client]) -> None:
        """Read all documents and look for what they were, once all is well; then record what became of each job."""
        board = self.stage.look()
        await_quiet(board, within_s=CONTROL_WAITS_S if self.line.is_control else WAITS_S)
        together([partial(look_at, clients, place) for place in range(len(clients))])
        with ThreadPoolExecutor(4) as pool:
            note = partial(self.note_last, board, clients[0].mill)
            list(pool.map(note, accepted_jobs(self.recorder.history)))

    def note_last(self, board: redis.Redis, mill: Querymill, job_id: str) -> None:
        """Record how the board holds a job, and its events."""
        begin = self.recorder.now()
        job, seen = mill.job(job_id), dict[str, Any]()
        try:
            picture = job.picture()
            seen |= {"state": picture.record.state, "attempts": {step.name: step.attempt for step in picture.steps}}
        except UnknownJob:
            seen |= {"state": "unknown", "trail": trail_of(job, until=time.monotonic())}
        told: Any = board.xrange(keys.of_job(job_id, "events")[0])
        seen |= {"ids": [each for each, _ in told], "types": [entry["type"] for _, entry in told]}
        self.recorder.note("board", "last", begin, self.recorder.now(), argument={"job_id": job_id}, seen=seen)


def look_at(clients: list[Client], place: int) -> None:
    """Let one client look at its share of the documents."""
    client = clients[place]
    for document in client.shelf.documents[place :: len(clients)]:
        client.read(document)
        for word in document.words[-_LAST_WORDS:]:
            client.find(document, word)


def await_quiet(board: redis.Redis, *, within_s: float) -> None:
    """Wait until no job is due. The checkers see what is not over then."""
    until = time.monotonic() + within_s
    while any(board.zcard(keys.prefix(shard) + "due") for shard in keys.SHARDS) and time.monotonic() < until:
        time.sleep(0.2)


def run_line(house: House, line: Line, *, jobs: int, seed: int, out: Path) -> Counts:
    """Run a line, write its history into a folder, and return its counts.

    Raises:
        RuntimeError: The fault did not come about.
    """
    stage = house.stage
    stage.reseed(seed)
    stage.hire(app=APP, settings={})
    run = Run(line, stage)
    shelf = Shelf.of(f"shelf-{uuid4().hex[:8]}", each=max(2, jobs // JOBS_A_DOCUMENT // len(KINDS)))
    patience_s = CONTROL_PATIENCE_S if line.is_control else PATIENCE_S
    clients = house.clients(shelf, run.recorder, seed=seed, patience_s=patience_s)
    # So that each kind can be searched.
    together([partial(clients[place].put, document) for place, document in enumerate(shelf.documents[: len(KINDS)])])
    stage.hire(app=line.app, settings=line.own)
    try:
        run.work(clients, jobs)
        run.look_back(clients)
    finally:
        run.recorder.write(out / f"{line.name.replace(' ', '-')}-{stage.servers}-{seed}.jsonl")
    if run.broken:
        raise RuntimeError(f"the fault did not come about: {run.broken}")
    return count(run.recorder.history, spared=line.spares)
