"""A worker refuses to start on services that would break a promise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import redis

from tests.fakes.rabbit import HOSTS, Rabbit
from tests.fixtures.command_line import WORKER, CommandLine, Run
from tests.fixtures.deployment import Deployment


def start(deployment: Deployment, **changes: str) -> Run:
    return CommandLine(deployment.environment | changes, program="celery")(*WORKER)


def test_a_server_that_may_evict_is_refused(deployment: Deployment) -> None:
    with redis.Redis.from_url(deployment.settings.redis_url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            refused = start(deployment)
        finally:
            client.config_set("maxmemory-policy", "noeviction")
    assert refused.returncode == 78
    assert "maxmemory-policy is allkeys-lru" in refused.stderr


#: A virtual host of RabbitMQ that no board of a test has.
OWN = HOSTS[-1]


@pytest.mark.nightly
@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_pool_that_no_broker_but_redis_can_serve_is_refused_and_leaves_nothing_there(
    deployment: Deployment, shared_rabbit: Rabbit, pool: str
) -> None:
    broker = {"CELERY_BROKER_URL": shared_rabbit.url(OWN)}
    words = ["-A", "querymill_workers.app", "worker", "-P", pool, "-c", "1"]
    refused = CommandLine(deployment.environment | broker, program="celery")(*words)
    assert refused.returncode == 78
    assert "start the worker with -P threads" in refused.stderr
    assert not shared_rabbit.ask("list_queues", "-p", OWN)[1:]


def test_a_database_without_the_schema_is_refused(deployment: Deployment, database: psycopg.Connection) -> None:
    database.execute("CREATE DATABASE empty")
    url = deployment.environment["DATABASE_URL"].rsplit("/", 1)[0] + "/empty"
    refused = start(deployment, DATABASE_URL=url)
    assert refused.returncode == 78
    assert "querymill migrate" in refused.stderr


def test_a_database_that_is_away_ends_the_worker_instead_of_leaving_it_half_alive(deployment: Deployment) -> None:
    away = start(deployment, DATABASE_URL="postgresql://127.0.0.1:1/none")
    assert away.returncode == 75


def test_a_worker_that_cannot_start_logs_no_part_of_a_password(deployment: Deployment) -> None:
    # libpq takes the second word for a keyword, and quotes it.
    away = start(deployment, DATABASE_URL="host=127.0.0.1 password=HUNTER TWO")
    assert away.returncode == 75
    assert "could not start" in away.stderr
    assert not re.search(r"\b(HUNTER|TWO)\b", away.stderr)


def test_a_migration_that_cannot_connect_says_so_without_the_password(deployment: Deployment) -> None:
    command = [sys.executable, "-m", "querymill_workers.migrate"]
    malformed = {"DATABASE_URL": "postgresql+psycopg://u:HUNTER@127.0.0.1/x"}
    environment = os.environ | deployment.environment | malformed
    failed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert failed.returncode == 1
    assert failed.stderr.startswith('DATABASE_URL: missing "=" after "postgresql+psycopg://u:***@127.0.0.1/x"')
    assert len(failed.stderr.splitlines()) == 1


@pytest.mark.parametrize("setting", ["QUERYMILL_LEASE_S"])
def test_a_setting_out_of_range_is_named(deployment: Deployment, setting: str) -> None:
    refused = start(deployment, **{setting: "60"})
    assert refused.returncode != 0
    assert setting.lower() in refused.stderr


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A working folder whose modules have the names of those that the programs import."""
    names = ("celery", "dotenv", "fastapi", "kombu", "numpy", "psycopg", "pymongo", "querymill_workers", "redis", "six")
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the working folder was imported')\n")
    (tmp_path / ".env").write_text("QUERYMILL_LOG_LEVEL=DEBUG\n")
    return tmp_path


@pytest.mark.usefixtures("openai_server")
@pytest.mark.parametrize(
    ("command", "codes"),
    [
        pytest.param("migrate --check", {0}, marks=pytest.mark.nightly),
        pytest.param("doctor", {0, 1, 3}, marks=pytest.mark.nightly),
        ("worker --queues search", {75}),  # it finds no database
    ],
)
def test_what_a_command_starts_imports_nothing_from_the_working_folder(
    deployment: Deployment, crowded: Path, command: str, codes: set[int]
) -> None:
    program = [str(Path(sys.executable).with_name("querymill")), *command.split()]
    changes = {"DJANGO_SETTINGS_MODULE": "settings_of_an_application"}
    if command.startswith("worker"):
        changes["DATABASE_URL"] = "postgresql://127.0.0.1:1/none"
    environment = os.environ | deployment.environment | changes
    run = subprocess.run(
        program, cwd=crowded, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "was imported" not in run.stdout + run.stderr
    assert run.returncode in codes, run.stdout + run.stderr


def test_a_lexicon_that_breaks_a_rule_is_refused_by_its_line_and_column(deployment: Deployment, tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    own.write_text("terms\tenglish\tdomains\n绞盘\tcapstan\tships\n", encoding="utf-8")
    refused = start(deployment, QUERYMILL_LEXICON=str(own))
    assert refused.returncode == 78
    assert f"QUERYMILL_LEXICON: {own} line 2, column domains: 'ships' is not one of conversations" in refused.stderr
