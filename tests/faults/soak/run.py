"""Mixed work of many clients for some time, with one fault after another, while what the fleet holds is sampled."""

import json
import random
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import Final
from uuid import uuid4

from querymill import Querymill
from querymill_shared.settings import Settings
from tests.fakes.worker import WorkerProcess
from tests.faults.histories.counting import count
from tests.faults.soak.figures import Watch
from tests.faults.soak.results import Soaked
from tests.faults.soak.slopes import slope_of
from tests.faults.table import provider, servers, workers, zombies  # noqa: F401  # they register their lines
from tests.faults.table.clients import together
from tests.faults.table.library import Shelf
from tests.faults.table.lines import APP, LINES, Line
from tests.faults.table.recording import Countdown
from tests.faults.table.results import WRITTEN, this_machine
from tests.faults.table.run import House, Run, open_house
from tests.fixtures.gateways import gateway_process
from tests.fixtures.people import dropping, ingestion
from tests.fixtures.trees import present_commit

#: What a fleet keeps for hours or days is kept for so long here: it is level within the run.
BRIEF: Final = {
    "QUERYMILL_RESULT_TTL_S": "60", "QUERYMILL_VECTOR_TTL_S": "60", "QUERYMILL_EXPANSION_TTL_S": "60",
    "QUERYMILL_TRAILS": "5000",
}  # fmt: skip
#: Seconds between two samples, and between two faults.
SAMPLE_S: Final = 5.0
CALM_S: Final = (5.0, 20.0)
#: The share of the run that is left out at its beginning: caches fill, and pools open.
WARM_UP: Final = 0.25
DOCUMENTS_EACH: Final = 8
#: Reports of different words that fill the caches of words, 65,536 each, of four workers; and how long that may take.
FILLING, WORDS_EACH, FILLED_WITHIN_S = 80, 5_000, 300
#: After so many faults that could not be brought about, the servers are no longer what a fleet works on.
GIVES_UP_AFTER: Final = 3


def faults_of_a_soak() -> list[Line]:
    """Return the faults that may come one after another: no control, no other release, no board that loses data."""
    lines = [line for line in LINES.values() if "valkey" in line.on and line.app == APP and not line.own]
    return [line for line in lines if not (line.is_control or line.loses_board or line.whole_fleet or line.spares)]


def soak(*, minutes: float, seed: int, out: Path) -> Soaked:
    """Run a fleet for so long. Its history is written into a folder."""
    commit = present_commit(but=WRITTEN)
    with open_house("valkey", seed=seed) as house:
        stage = house.stage
        stage.hire(app=APP, settings=BRIEF)
        brief = {name.lower(): value for name, value in BRIEF.items()}
        settings = Settings.model_validate(stage.settings.model_dump() | brief)
        house.mills = [stage.running.enter_context(Querymill(settings=settings)) for _ in house.mills]
        environment = stage.environment | BRIEF
        spared = stage.running.enter_context(WorkerProcess(environment, threads=8, name="spared"))
        gateway = stage.running.enter_context(gateway_process(environment))
        assert spared.process is not None
        watch = Watch(stage, spared.process, gateway.process)
        house.mills[-1] = stage.running.enter_context(Querymill(url=gateway.url))
        out.mkdir(parents=True, exist_ok=True)
        try:
            run, inflicted = _work(house, watch, minutes * 60, seed)
        finally:
            (out / f"soak-{seed}.samples.json").write_text(json.dumps({"s": watch.seconds, **watch.figures}))
        run.recorder.write(out / f"soak-{seed}.jsonl")
        versions = stage.versions()
    first = next(place for place, at in enumerate(watch.seconds) if at >= WARM_UP * minutes * 60)
    slopes = {name: slope_of(watch.seconds[first:], values[first:]) for name, values in watch.figures.items()}
    counts = count(run.recorder.history)
    return Soaked(
        minutes * 60, seed, slopes, len(watch.seconds), watch.missed, counts, dict(Counter(inflicted)),
        tuple(run.broken), versions, commit, datetime.now(UTC).date().isoformat(), this_machine(), BRIEF,
    )  # fmt: skip


def _work(house: House, watch: Watch, seconds: float, seed: int) -> tuple[Run, list[str]]:
    """Let all clients work, faults come about and samples be taken until the time is over."""
    calm = Run(LINES["calm"], house.stage)
    clients = house.clients(Shelf.of(f"shelf-{uuid4().hex[:8]}", each=DOCUMENTS_EACH), calm.recorder, seed=seed)
    together([partial(clients[0].put, document) for document in clients[0].shelf.documents])
    _fill_caches(house, random.Random(seed))
    over, inflicted, until = threading.Event(), list[str](), time.monotonic() + seconds
    beside = [
        threading.Thread(target=_inflict, args=(calm, over, inflicted, random.Random(seed))),
        threading.Thread(target=_sample, args=(watch, over)),
    ]
    for thread in beside:
        thread.start()
    try:
        countdown = Countdown(0, lambda: time.monotonic() >= until or len(calm.broken) >= GIVES_UP_AFTER)
        together([partial(client.work, countdown) for client in clients])
    finally:
        over.set()
        for thread in beside:
            thread.join()
    house.stage.await_starts()
    if len(calm.broken) >= GIVES_UP_AFTER:
        raise RuntimeError(f"faults did not come about: {calm.broken}")
    calm.look_back(clients)
    return calm, inflicted


def _fill_caches(house: House, chances: random.Random) -> None:
    """Let each worker read as many words as it keeps: with those of the clients alone, it would take hours."""
    mill, collection = house.mills[0], f"words-{uuid4().hex[:8]}"

    def put(number: int) -> None:
        text = " ".join("".join(chances.choices(ascii_lowercase, k=7)) for _ in range(WORDS_EACH))
        line = {"sha1": f"r{number}", "pages": [{"page": 1, "text": text}]}
        mill.submit(ingestion("reports", collection, line)).result(timeout=FILLED_WITHIN_S)

    together([partial(put, number) for number in range(FILLING)])
    mill.submit(dropping("reports", collection, everything=True)).result(timeout=FILLED_WITHIN_S)
    with house.stage.database() as database:
        database.execute("VACUUM FULL")


def _inflict(run: Run, over: threading.Event, inflicted: list[str], chances: random.Random) -> None:
    lines = faults_of_a_soak()
    # Each comes about early: what a fleet opens only then, such as one more connection, is open.
    first = chances.sample(lines, len(lines))
    while not over.wait(chances.uniform(*CALM_S)):
        line = first.pop() if first else chances.choice(lines)
        try:
            with run.recorder.during(line.name):
                line.inflict(run.stage)
        except Exception as error:  # noqa: BLE001  # a fault that did not come about is listed, and others follow
            run.broken.append(f"{line.name}: {type(error).__name__}: {error}"[:500])
            if len(run.broken) >= GIVES_UP_AFTER:
                return
        else:
            inflicted.append(line.name)


def _sample(watch: Watch, over: threading.Event) -> None:
    board, began = watch.stage.look(), time.monotonic()
    while not over.wait(SAMPLE_S):
        watch.look(time.monotonic() - began, board)
