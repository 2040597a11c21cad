"""Lines about zombies: workers that stand still beyond their lease, wake when others have gone on, and go on too.

Each is told twice: with all guards, and as the control of the guard that it is there for.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final
from uuid import uuid4

from querymill import Job, Rerank
from querymill_shared.board import Step
from querymill_shared.contracts.rerank import BATCH_SIZE
from tests.fakes.worker import WorkerProcess
from tests.faults.table.clients import Client, together
from tests.faults.table.library import KINDS, Document, Shelf
from tests.faults.table.lines import ALONE, line
from tests.faults.table.models import holding
from tests.faults.table.stage import Stage
from tests.fixtures.faults import freeze, thaw
from tests.fixtures.tallies import until

#: The others stand still for less than their lease while the zombie takes what is to be its own, in seconds.
TAKING_S: Final = 2.5
#: Then others have so long to take it over, in seconds.
TAKEOVER_S: Final = 20.0
_FIRST_BATCH: Final = "batch-01"


class Gate:
    """Holds whoever comes until it is opened, and counts them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_open = False
        self._came = 0

    def hold(self, *_: object) -> None:
        """Wait until the gate is open, for a minute at most."""
        with self._changed:
            self._came += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_open, timeout=60)

    def await_held(self, count: int, *, within_s: float) -> int:
        """Wait until so many have come. Return how many have."""
        with self._changed:
            self._changed.wait_for(lambda: self._came >= count, timeout=within_s)
            return self._came

    def open(self) -> None:
        """Let all go on."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()


@contextmanager
def _taking_all(stage: Stage, victim: WorkerProcess) -> Iterator[None]:
    """Have one worker take what is submitted; then it stands still, and the others go on."""
    others = [worker for worker in stage.workers if worker is not victim]
    for other in others:
        freeze(other)
    try:
        yield
    finally:
        freeze(victim)
        for other in others:
            thaw(other)


@line(
    "zombies write", "a worker stands still before it writes documents; others write them, and then something newer, or"
    " drop them; then it wakes, and writes", whole_fleet=True,
)  # fmt: skip
def write_late(stage: Stage) -> None:
    """Hold what one worker writes of a collection of its own, until something newer stands."""
    victim, gate = stage.any_worker(), Gate()
    name = uuid4().hex[:8]
    shelf = Shelf.of(f"zombies-{name}", each=1, prefix=f"z{name}")
    pairs = list(zip(stage.witnesses, shelf.documents, strict=True))
    for witness, _ in pairs:
        witness.shelf = shelf
    with ThreadPoolExecutor(len(pairs)) as pool:
        try:
            with _taking_all(stage, victim):
                stage.at_store.lay(shelf.collection.encode(), times=len(pairs), act=gate.hold)
                writing = [pool.submit(witness.put, document) for witness, document in pairs]
                held = gate.await_held(len(pairs), within_s=TAKING_S)
                stage.at_store.lay(shelf.collection.encode(), times=0)
            for each in writing:
                each.result()
            together([partial(_replace, witness, document) for witness, document in pairs])
        finally:
            gate.open()
            thaw(victim)
    if not held:
        raise RuntimeError("the zombie took no write")
    stage.pause(1.5, 2.5)
    together([partial(_look_for, witness, document) for witness, document in pairs])


def _replace(witness: Client, document: Document) -> None:
    """Write what is newer: another version, or now and then none."""
    if witness.chances.random() < 1 / len(KINDS):
        witness.drop(document)
    else:
        witness.put(document)


def _look_for(witness: Client, document: Document) -> None:
    """Read a document, and look for each word that it had."""
    witness.read(document)
    for word in document.words:
        witness.find(document, word)


@line(
    "zombies close steps", "a worker stands still while a judge reads two batches for it; others have them read again,"
    " and close the first; then it wakes, and closes it too", whole_fleet=True,
)  # fmt: skip
def close_late(stage: Stage) -> None:
    """Let a step be closed by two, while another of its job is open."""
    witness, name = stage.witnesses[0], uuid4().hex
    gates = {f"first{name}": Gate(), f"second{name}": Gate()}
    first, second = gates.values()
    with ExitStack() as last:
        last.enter_context(holding(stage.provider, {word: gate.hold for word, gate in gates.items()}))
        last.callback(second.open)
        last.callback(first.open)
        job = witness.submit(_reranking(*gates), name)
        if job is None or not all(gate.await_held(1, within_s=TAKEOVER_S) for gate in gates.values()):
            raise RuntimeError("nobody took the steps")
        victim = stage.worker_called(_step_of(job, _FIRST_BATCH).worker)
        freeze(victim)
        last.callback(thaw, victim)
        if first.await_held(2, within_s=TAKEOVER_S) < 2:
            raise RuntimeError("nobody took over the step of the zombie")
        first.open()
        until(lambda: _step_of(job, _FIRST_BATCH).is_closed, within_s=TAKEOVER_S)
        thaw(victim)
        stage.pause(1.5, 2.5)
    witness.wait(job)


def _reranking(*words: str) -> Rerank:
    """Return a request of one batch for each word, with time for all."""
    hits: list[dict[str, Any]] = [
        {"id": f"{word}-{number}", "text": f"the fleet of {word} counts {number} ships", "score": 0.5}
        for word in words
        for number in range(BATCH_SIZE)
    ]
    return Rerank.model_validate(
        {"query": "which fleet has most ships", "collection": "hits", "hits": hits, "deadline": 240}
    )


def _step_of(job: "Job[Any]", name: str) -> Step:
    return next(step for step in job.picture().steps if step.name == name)


line(
    "control: no versions", "as in \"zombies write\", without lock and version of documents", on=ALONE,
    app="tests.fakes.worker_without_versions", is_control=True, whole_fleet=True,
)(write_late)  # fmt: skip
line(
    "control: no fence", "as in \"zombies close steps\", where who lost a step may still close it", on=ALONE,
    app="tests.fakes.worker_without_fence", is_control=True, whole_fleet=True,
)(close_late)  # fmt: skip
