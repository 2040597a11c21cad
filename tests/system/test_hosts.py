"""Hosts that join a fleet by one command: jobs spread, one is cut off and comes back, one leaves. Nothing is lost."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
import redis

from querymill import IngestReports, Querymill, Settings
from querymill_shared.board.lives import ALIVE_S, read_lives
from querymill_shared.contracts.reports.ingest import Report
from tests.fakes.proxy import network
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.hosts import Host, hosts_on_a_bridge
from tests.fixtures.tallies import Effects, Tally, await_ends, count_ends, until

PAGES: Final = 3


@contextmanager
def reachable(environment: dict[str, str], at: str) -> Iterator[dict[str, str]]:
    """The same settings, with addresses that lead to the servers from other hosts."""
    with ExitStack() as laid:
        moved = dict(environment)
        for name in ("REDIS_URL", "DATABASE_URL", "OPENAI_BASE_URL", "EMBEDDING_BASE_URL"):
            place = urlsplit(environment[name])
            assert place.hostname is not None
            assert place.port is not None
            way = laid.enter_context(network(place.hostname, place.port, at=at))
            moved[name] = environment[name].replace(f"{place.hostname}:{place.port}", f"{at}:{way.port}")
        yield moved


class Fleet:
    """The jobs that were given to a fleet, and where they were done."""

    def __init__(self, settings: Settings, database: psycopg.Connection) -> None:
        self.mill = Querymill(settings=settings)
        self.client = redis.Redis.from_url(settings.redis_url, decode_responses=True)
        self.effects = Effects(database, f"hosts{uuid4().hex[:8]}")
        self.tally = Tally("hosts", "redis", 0)

    def submit(self, count: int) -> list[str]:
        """Submit ingestions of one report each."""
        ids = []
        for _ in range(count):
            name = uuid4().hex
            pages = [{"page": number + 1, "text": f"{name} tells of ship {number}"} for number in range(PAGES)]
            report = Report.model_validate(
                {"sha1": name, "title": name, "company": name, "period": "2026", "pages": pages}
            )
            job = self.mill.submit(IngestReports(collection=self.effects.collection, documents=(report,)))
            self.effects.reports[job.id] = (name, PAGES)
            ids.append(job.id)
        return ids

    def done_on(self, ids: list[str]) -> Counter[str]:
        """Wait for jobs, count what became of them, and return how many each host did."""
        records = await_ends(self.mill, ids, within_s=120)
        count_ends(self.tally, records, self.mill, self.client, durable=ids)
        steps = [self.mill.job(id_).picture().steps[0] for id_ in ids]
        return Counter(step.life.partition("@")[2].partition("#")[0] for step in steps)

    def alive(self) -> set[str]:
        """The hosts whose workers are heard of."""
        lives = [life for life in read_lives(self.client) if life.beat_age_s < ALIVE_S and life.queues]
        return {life.name.partition("@")[2] for life in lives}


def joined(host: Host, url: str, environment: dict[str, str], home: Path) -> None:
    done = host.querymill(
        "up", "--join", url, "--detach", "--data", str(home / host.name), environment=environment, home=home
    )
    assert done.returncode == 0, done.stderr


def left(host: Host, home: Path) -> None:
    done = host.querymill("down", "--data", str(home / host.name), environment={}, home=home)
    assert done.returncode == 0, done.stderr


@contextmanager
def fleet_without_hosts(
    deployment: Deployment, database: psycopg.Connection, here: str
) -> Iterator[tuple[Fleet, dict[str, str]]]:
    """Yield a fleet of one worker, which does no loading, and the settings by which hosts reach its servers."""
    board = deployment.environment["REDIS_URL"].removesuffix("/2") + "/9"
    with redis.Redis.from_url(board) as client:
        client.flushdb()
    with (
        reachable(deployment.environment | {"REDIS_URL": board, "CELERY_BROKER_URL": ""}, here) as fleet_has,
        WorkerProcess(fleet_has, queues="ranks", threads=1),
    ):
        yield Fleet(Settings(redis_url=board), database), fleet_has


def secrets_of(fleet_has: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return the address to join without its password, and the settings that a fleet does not tell."""
    without_password = "redis://" + fleet_has["REDIS_URL"].partition("@")[2]
    return without_password, {name: fleet_has[name] for name in ("REDIS_URL", "DATABASE_URL")}


@pytest.mark.nightly
def test_a_host_joins_by_one_command_does_jobs_and_leaves(
    deployment: Deployment, database: psycopg.Connection, tmp_path: Path
) -> None:
    with (
        hosts_on_a_bridge(["oslo"]) as (here, (oslo,)),
        fleet_without_hosts(deployment, database, here) as (fleet, fleet_has),
        ExitStack() as running,
    ):
        url, secrets = secrets_of(fleet_has)
        knows_no_database = {"REDIS_URL": secrets["REDIS_URL"]}
        asked = oslo.querymill("up", "--join", url, "--detach", environment=knows_no_database, home=tmp_path)
        assert asked.returncode == 2, asked.stderr
        assert f"DATABASE_URL: the fleet has postgresql://querymill:***@{here}:" in asked.stderr
        password = psycopg.conninfo.conninfo_to_dict(fleet_has["DATABASE_URL"])["password"]
        assert str(password) not in asked.stderr

        running.callback(left, oslo, tmp_path)
        joined(oslo, url, secrets, tmp_path)
        under_way = fleet.submit(20)
        assert set(fleet.done_on(under_way)) == {"oslo"}
        left(oslo, tmp_path)
        assert "oslo" not in fleet.alive()
        fleet.effects.count(fleet.tally, done=list(fleet.effects.reports))
        assert (fleet.tally.lost, fleet.tally.doubled) == (0, 0), fleet.tally.losses


@pytest.mark.nightly
def test_hosts_join_are_cut_off_and_leave_and_no_job_is_lost_or_done_twice(
    deployment: Deployment, database: psycopg.Connection, tmp_path: Path
) -> None:
    with (
        hosts_on_a_bridge(["oslo", "bergen"]) as (here, (oslo, bergen)),
        fleet_without_hosts(deployment, database, here) as (fleet, fleet_has),
        ExitStack() as running,
    ):
        url, secrets = secrets_of(fleet_has)
        for host in (oslo, bergen):
            running.callback(left, host, tmp_path)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda host: joined(host, url, secrets, tmp_path), (oslo, bergen)))
        assert {"oslo", "bergen"} <= fleet.alive()

        assert set(fleet.done_on(fleet.submit(40))) == {"oslo", "bergen"}  # jobs spread

        under_way = fleet.submit(40)
        oslo.pull_the_cable()
        assert fleet.done_on(fleet.submit(10) + under_way)["bergen"] >= 10
        assert "oslo" not in fleet.alive()
        oslo.plug_it_in()
        until(lambda: "oslo" in fleet.alive(), within_s=60)
        until(lambda: "oslo" in fleet.done_on(fleet.submit(20)), within_s=60)

        under_way = fleet.submit(40)
        left(bergen, tmp_path)
        assert "bergen" not in fleet.alive()
        fleet.done_on(under_way)
        assert set(fleet.done_on(fleet.submit(10))) == {"oslo"}

        fleet.effects.count(fleet.tally, done=list(fleet.effects.reports))
        assert (fleet.tally.lost, fleet.tally.doubled) == (0, 0), fleet.tally.losses
