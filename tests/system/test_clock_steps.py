"""The clock of the board's server steps back, or the board loses its data or its place: no write vanishes."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
import redis

from querymill import (
    JobFailed,
    Querymill,
    Settings,
    ShowDocument,
    UnknownCollection,
)
from querymill.cli.doctor import diagnose
from querymill_shared.contracts.filters import Retriever
from tests.fakes.worker import WorkerProcess
from tests.fixtures import people
from tests.fixtures.clocks import SteppedServer, stepped_server
from tests.fixtures.command_line import NO_MODELS
from tests.fixtures.deployment import Deployment
from tests.fixtures.people import Person
from tests.fixtures.short_forms import crossed

KINDS: tuple[Retriever, ...] = get_args(Retriever)


@dataclass
class Fleet:
    """A board on a server whose clock can be stepped, a worker, and a client."""

    server: SteppedServer
    worker: WorkerProcess
    environment: dict[str, str]
    mill: Querymill

    def run(self, request: Any) -> Any:
        return self.mill.submit(request).result(timeout=60)

    def ingest(self, kind: Retriever, collection: str, person: Person, place: str) -> str:
        """Ingest a document under an id. Return how that ended."""
        line = people.document(kind, Person(person.name, person.text, person.note, place, person.question))
        result = self.run(people.ingestion(kind, collection, line))
        return str(result.documents[0].outcome)

    def shown(self, kind: Retriever, collection: str, place: str) -> str:
        """Return what is stored of a document, "" if nothing is."""
        id_ = people.document_id(kind, Person("", "", "", place, ""))
        try:
            return str(self.run(ShowDocument(retriever=kind, collection=collection, id=id_)).document or "")
        except (UnknownCollection, JobFailed):
            return ""


@pytest.fixture(scope="module")
def fleet(deployment: Deployment) -> Iterator[Fleet]:
    with stepped_server() as server:
        environment = deployment.environment | {"REDIS_URL": server.url}
        settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
        with WorkerProcess(environment, name="stepped") as worker, Querymill(settings=settings) as mill:
            yield Fleet(server, worker, environment, mill)


@pytest.fixture(autouse=True)
def right_clock(fleet: Fleet) -> Iterator[None]:
    yield
    fleet.server.step(0)


def new_name(what: str) -> str:
    return f"{what}-{people.Person.new().name}"


def step_back(fleet: Fleet, seconds: int) -> None:
    """Step the clock back, seen from all that was written so far."""
    fleet.server.step(-seconds)


def lose_board(fleet: Fleet, seconds: int) -> None:
    """Start the board's server without its data, on a machine whose clock is behind."""
    fleet.server.kill()
    fleet.server.lose_data()
    fleet.server.step(-seconds)
    fleet.server.start()
    for _ in range(8):  # the client learns that its connections are gone
        with suppress(redis.ConnectionError):
            fleet.mill.recent()


def come_back_from_the_future(fleet: Fleet, seconds: int) -> None:
    """Undo a step forward, in which all so far was written."""
    assert seconds
    fleet.server.step(0)


CASES = {
    "an hour back": (0, step_back, 3_600),
    "five seconds back": (0, step_back, 5),
    "forward and back": (3_600, come_back_from_the_future, 3_600),
    "another server": (0, lose_board, 3_600),
}


@pytest.mark.parametrize(("case", "kind"), crossed(CASES, KINDS))
def test_what_is_written_and_dropped_after_a_step_is_what_stands(fleet: Fleet, kind: Retriever, case: str) -> None:
    before, step, seconds = CASES[case]
    fleet.server.step(before)
    collection, old, new = new_name(kind), Person.new(), Person.new()
    places = ("replaced", "by-id", "by-filter", "left")
    for place in places:
        assert fleet.ingest(kind, collection, old, place) == "ingested"
    step(fleet, seconds)
    assert fleet.ingest(kind, collection, new, "replaced") == "ingested"
    shown = fleet.shown(kind, collection, "replaced")
    assert new.text in shown
    assert old.text not in shown
    by_id = people.document_id(kind, Person("", "", "", "by-id", ""))
    dropped = fleet.run(people.dropping(kind, collection, ids=[by_id]))
    assert (dropped.outcome, dropped.total) == ("forgotten", 1)
    assert fleet.shown(kind, collection, "by-id") == ""
    dropped = fleet.run(people.dropping(kind, collection, filter={"note": old.note}))
    assert dropped.outcome == "forgotten"
    assert [fleet.shown(kind, collection, place) for place in places[1:]] == [""] * 3
    assert new.text in fleet.shown(kind, collection, "replaced")
    # What came after the drop stays.
    assert fleet.ingest(kind, collection, new, "by-id") == "ingested"
    dropped = fleet.run(people.dropping(kind, collection, everything=True))
    assert (dropped.outcome, dropped.total) == ("forgotten", 2)


@pytest.mark.nightly
def test_doctor_names_the_clocks_that_differ(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    lose_board(fleet, 0)
    time.sleep(2)
    monkeypatch.chdir(tmp_path)
    for name, value in (fleet.environment | NO_MODELS).items():
        monkeypatch.setenv(name, value)
    clocks = {finding.name: finding for finding in diagnose()}["clocks"]
    assert (clocks.ok, clocks.mend) == (True, "")
    fleet.server.step(-60)
    time.sleep(2)
    clocks = {finding.name: finding for finding in diagnose()}["clocks"]
    assert clocks.ok is False
    for name in ("this machine is 60", "worker stepped@", "PostgreSQL is 60"):
        assert name in clocks.mend
    fleet.server.step(30)
    time.sleep(3)
    fleet.server.step(0)
    time.sleep(2)
    clocks = {finding.name: finding for finding in diagnose()}["clocks"]
    assert clocks.ok is None
    assert re.match(r"the board is \d\d s ahead of its server, whose clock stepped back", clocks.mend)
