"""Workers behind the real PgBouncer: they answer searches of every kind, or refuse to start and say what to change."""

import re
from uuid import uuid4

import pytest
import redis

from querymill import Querymill, Settings
from querymill.cli.doctor import diagnose
from querymill_shared.contracts.filters import Retriever
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import NO_MODELS, WORKER, CommandLine
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.people import Person, document, ingestion, search
from tests.fixtures.poolers import pooler
from tests.fixtures.short_forms import all_at_night

KINDS: tuple[Retriever, ...] = ("reports", "messages", "conversations", "files", "modules")
REFUSED = [
    ({}, "?options=-c%20search_path%3Dpublic", {}, "unsupported startup parameter"),
    ({}, "", {"PGOPTIONS": "-c statement_timeout=0"}, "unsupported startup parameter"),
    ({"pool_mode": "statement"}, "", {}, "pool_mode is statement"),
]


@pytest.mark.nightly  # by day: contract/postgres/test_poolers.py
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_fleet_behind_pgbouncer_stores_and_finds_every_kind(
    deployment: Deployment, openai_server: OpenAIServer, mode: str
) -> None:
    board = deployment.environment["REDIS_URL"].removesuffix("/2") + "/6"
    with redis.Redis.from_url(board) as client:
        client.flushdb()
    size = {"transaction": "4", "session": "40"}[mode]
    with pooler(deployment.environment["DATABASE_URL"], pool_mode=mode, default_pool_size=size) as url:
        environment = deployment.environment | {"REDIS_URL": board, "DATABASE_URL": url}
        settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
        assert CommandLine(environment)("migrate", "--check").returncode == 0
        collection, people = f"pooled{uuid4().hex[:8]}", [Person.new() for _ in range(4)]
        with (
            WorkerProcess(environment, threads=16, name="first") as first,
            WorkerProcess(environment, threads=16, name="second") as second,
            Querymill(settings=settings) as mill,
        ):
            for kind in KINDS:
                for person in people:
                    finished(mill, ingestion(kind, collection, document(kind, person)))
            jobs = [mill.submit(search(kind, collection, person.text)) for kind in KINDS for person in people * 5]
            results = [job.result(timeout=60) for job in jobs]
            logs = first.log + second.log
        assert [result.degraded for result in results if not result.results or result.degraded] == []
        assert not re.search(r"prepared statement|unsupported startup|DuplicatePrepared", logs)


@pytest.mark.parametrize(("settings", "options", "variables", "said"), all_at_night(REFUSED, short=REFUSED[:1]))
def test_a_worker_refuses_to_start_and_doctor_says_why(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str], options: str, variables: dict[str, str], said: str,
) -> None:  # fmt: skip
    with pooler(deployment.environment["DATABASE_URL"], **settings) as url:
        environment = deployment.environment | {"DATABASE_URL": url + options} | variables
        refused = CommandLine(environment, program="celery")(*WORKER)
        migrated = CommandLine(environment)("migrate")
        for name, value in (environment | NO_MODELS).items():
            monkeypatch.setenv(name, value)
        walls = {finding.name: finding for finding in diagnose()}["walls"]
    password = str(url.split("@")[0].rsplit(":", 1)[1])
    assert refused.returncode == 78
    assert migrated.returncode == 1
    assert walls.ok is False
    for line in (refused.stderr, migrated.stderr, walls.mend):
        assert said in line
        assert password not in line
    assert len(migrated.stderr.splitlines()) == 1
