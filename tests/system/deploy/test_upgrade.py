"""A fleet in containers goes to a new release and back, one container after another, while jobs stream in.

The release before is its own source on the libraries of this release's image. The new one is this release with one
migration more, which locks every table for some seconds. So the test shows that jobs survive two releases on one board
and wire, a migration under load, and a roll-back to a release that does not know it. It does not show that the image of
the release before starts with the libraries that it was shipped with.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import uuid4

import httpx
import psycopg
import pytest
import redis

from querymill import IngestReports, Querymill, Report, ReportSearch, Settings
from querymill_embedded import free_ports
from querymill_shared.board.lives import ALIVE_S, read_lives
from querymill_shared.contracts.jobs import JobRequest
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fixtures.containers import HARDENED, Container, container, former_image, need_containers, next_image
from tests.fixtures.deployment import Deployment
from tests.fixtures.releases import FormerRelease
from tests.fixtures.tallies import Effects, Tally, await_ends, count_ends, until

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1500)]
PAGES: Final = 3
#: A busy machine needs its time to start a container, in seconds.
PATIENCE_S: Final = 240
#: How many jobs both releases are seen to end beside each other, before the next containers are replaced.
BESIDE: Final = 10


@dataclass
class Stream:
    """A caller over HTTP, who sends a job to the next gateway until one accepts it."""

    gateways: Sequence[str]
    collection: str
    #: Jobs that were accepted, and the reports of those that store one.
    accepted: list[str] = field(default_factory=list)
    reports: dict[str, tuple[str, int]] = field(default_factory=dict)
    refused: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        for number in itertools.count():
            if self.over.wait(0.2):
                return
            if number % 2:
                self._send(ReportSearch(collection=self.collection, query=f"ships of {uuid4().hex}?", deadline=600))
            else:
                name = uuid4().hex
                self.reports[self._send(ingestion(self.collection, name))] = (name, PAGES)

    def _send(self, request: JobRequest) -> str:
        key, body = {"Idempotency-Key": uuid4().hex}, request.model_dump(mode="json")
        begun = time.monotonic()
        for at in itertools.cycle(self.gateways):
            try:
                answer = httpx.post(f"{at}/v1/jobs", json=body, headers=key, timeout=10)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code == 202:
                job_id = answer.headers["Location"].rpartition("/")[2]
                self.accepted.append(job_id)
                return job_id
            assert answer is None or answer.status_code == 503, answer.text
            assert time.monotonic() - begun < PATIENCE_S, "no gateway accepts a job"
            self.refused += 1
            time.sleep(0.1)
        raise AssertionError


def ingestion(collection: str, name: str) -> IngestReports:
    pages = [{"page": number + 1, "text": f"{name} tells of ship {number}"} for number in range(PAGES)]
    document = {"sha1": name, "title": name, "company": name, "period": "2026", "pages": pages}
    return IngestReports(collection=collection, documents=(Report.model_validate(document),))


@dataclass
class Fleet:
    """Containers by name, each of one release."""

    images: dict[str, str]
    environment: dict[str, str]
    running: ExitStack
    board: redis.Redis
    ports: dict[str, int]
    containers: dict[str, Container] = field(default_factory=dict)

    def start(self, name: str, release: str) -> None:
        """Start a worker or a gateway, and wait until it serves."""
        if name in self.ports:
            at = f"http://127.0.0.1:{self.ports[name]}/readyz"
            command = ["gateway", "--port", str(self.ports[name])]
            serves: Callable[[], object] = partial(answers, at)
        else:
            command = ["worker", "--threads", "4", "--name", f"{name}-{release}"]
            serves = partial(self._lives, f"{name}-{release}")
        options = (*HARDENED, "--tmpfs", "/tmp:size=8m,mode=1777") if name in self.ports else HARDENED
        started = container(self.images[release], *command, environment=self.environment, options=options)
        self.containers[name] = self.running.enter_context(started)
        until(serves, within_s=PATIENCE_S)

    def replace(self, name: str, release: str, *, kill: bool = False) -> None:
        """Put a container of another release in the place of one."""
        if kill:
            self.containers[name].stop(within_s=0)
        else:
            assert self.containers[name].stop(within_s=30) in (0, 143)
        self.start(name, release)

    def run(self, release: str, *command: str) -> str:
        """Run a command to its end, and return what it wrote."""
        with container(self.images[release], *command, environment=self.environment) as one:
            until(lambda: one.state["Status"] == "exited", within_s=PATIENCE_S)
            assert one.state["ExitCode"] == 0, one.log
            return one.log

    def _lives(self, name: str) -> bool:
        lives = [life for life in read_lives(self.board) if life.beat_age_s < ALIVE_S and life.queues]
        return name in {life.name.partition("@")[0] for life in lives}


def answers(at: str) -> bool:
    try:
        return httpx.get(at).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def fleet(
    deployment: Deployment, former_release: FormerRelease, openai_server: OpenAIServer, empty_url: str
) -> Iterator[Fleet]:
    """A fleet of the release before, on a database that it made."""
    need_containers()
    openai_server.script.embeddings = lambda body: Answer(embedded(body).body, after_s=0.3)
    url = deployment.settings.redis_url.removesuffix("/2") + "/9"
    images = {"former": former_image(former_release), "new": next_image()}
    ports = free_ports(["gateway-1", "gateway-2"], preferred={})
    with redis.Redis.from_url(url) as board, ExitStack() as running:
        board.flushdb()
        environment = deployment.environment | {"REDIS_URL": url, "DATABASE_URL": empty_url}
        fleet = Fleet(images, environment, running, board, ports)
        fleet.run("former", "migrate")
        with ThreadPoolExecutor() as starting:
            list(starting.map(partial(fleet.start, release="former"), ("worker-1", "worker-2", *ports)))
        yield fleet


@contextmanager
def streaming(fleet: Fleet) -> Iterator[Stream]:
    """Jobs that come in, from four callers, until the end."""
    collection = f"rolling{uuid4().hex[:8]}"
    gateways = [f"http://127.0.0.1:{port}" for port in fleet.ports.values()]
    with Querymill(settings=settings_of(fleet)) as mill:
        mill.submit(ingestion(collection, "first")).result(timeout=PATIENCE_S)
    stream = Stream(gateways, collection)
    with ThreadPoolExecutor(4) as callers:
        running: list[Future[None]] = [callers.submit(stream.run) for _ in range(4)]
        try:
            yield stream
        finally:
            stream.over.set()
    for caller in running:
        caller.result()


def settings_of(fleet: Fleet) -> Settings:
    return Settings.model_validate({name.lower(): value for name, value in fleet.environment.items()})


def both_work(mill: Querymill, stream: Stream) -> None:
    """Wait until workers of both releases have ended jobs that came in from now on."""
    first = len(stream.accepted)

    def ended() -> Counter[str]:
        return done_by(mill, stream.accepted[first:])

    until(lambda: min(ended()[release] for release in ("former", "new")) >= BESIDE, within_s=PATIENCE_S)


def done_by(mill: Querymill, job_ids: Sequence[str]) -> Counter[str]:
    """How many jobs each release has ended."""
    found: Counter[str] = Counter()
    for job_id in job_ids:
        picture = mill.job(job_id).picture()
        if picture.record.is_over:
            found[picture.steps[-1].life.partition("@")[0].rpartition("-")[2]] += 1
    return found


def test_a_fleet_goes_to_a_new_release_and_back_while_jobs_stream_in(fleet: Fleet) -> None:
    with Querymill(settings=settings_of(fleet)) as mill:
        with streaming(fleet) as stream:
            assert "applied: 0002_mark.sql" in fleet.run("new", "migrate")
            for release, order in (
                # Who submits comes after those who must understand it, there and back.
                ("new", ("worker-1", "worker-2", "gateway-1", "gateway-2")),
                ("former", ("gateway-1", "gateway-2", "worker-1", "worker-2")),
            ):
                for name in order:
                    fleet.replace(name, release, kill=name == "worker-2")
                    if name == "worker-1":
                        both_work(mill, stream)
            fleet.run("former", "migrate", "--check")
        records = await_ends(mill, stream.accepted, within_s=PATIENCE_S)
        tally = counted(fleet, stream, mill, records)
        assert (tally.lost, tally.doubled, tally.dead_lettered) == (0, 0, 0), (tally.line(), tally.losses)
        assert {record.state for record in records.values()} == {"done"}
        assert len(records) == len(set(stream.accepted)) == tally.submitted
        assert stream.refused > 0, "no gateway was away"
        assert min(done_by(mill, stream.accepted).values()) > BESIDE


def counted(fleet: Fleet, stream: Stream, mill: Querymill, records: dict[str, Any]) -> Tally:
    """Count jobs that are lost, and effects that are there twice."""
    tally = Tally("upgrade", "redis", 0)
    with redis.Redis.from_url(fleet.environment["REDIS_URL"], decode_responses=True) as board:
        count_ends(tally, records, mill, board, durable=stream.accepted)
    with psycopg.connect(fleet.environment["DATABASE_URL"], autocommit=True) as database:
        database.execute("SET querymill.across = on")
        Effects(database, stream.collection, stream.reports).count(tally, done=records)
    return tally
