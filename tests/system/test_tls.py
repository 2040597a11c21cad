"""A whole fleet on addresses with TLS, with certificates of clients, and on a local socket."""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress

import pytest

from querymill import AsyncQuerymill, Querymill
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.settings import Settings
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.plain_listener import plain_listener
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import running_gateway
from tests.fixtures.guarded_boards import PASSWORD, GuardedBoard, guarded_board, need_program
from tests.fixtures.short_forms import all_at_night


@pytest.fixture(scope="module")
def demanding() -> Iterator[GuardedBoard]:
    """A server that listens on TLS and wants a certificate of its clients, and on a socket."""
    need_program()
    with guarded_board(needs_certificate=True) as board:
        yield board


def addresses(board: GuardedBoard, kind: str) -> dict[str, str]:
    return {
        "TLS": {"REDIS_URL": board.with_certificate(db=1)},
        "TLS to the board, a socket to the broker": {
            "REDIS_URL": board.with_certificate(db=3),
            "CELERY_BROKER_URL": f"redis+socket://:{PASSWORD}@{board.socket}?virtual_host=4",
        },
        "a socket to the board, TLS to the broker": {
            "REDIS_URL": board.on_socket(db=5), "CELERY_BROKER_URL": board.with_certificate(db=6),
        },
    }[kind]  # fmt: skip


def texts(name: str) -> EmbedTexts:
    return EmbedTexts.model_validate({"collection": "c", "texts": [{"id": name, "text": f"nine ships {name}"}]})


@pytest.mark.parametrize(
    "kind",
    all_at_night(
        ["TLS", "TLS to the board, a socket to the broker", "a socket to the board, TLS to the broker"], short=["TLS"]
    ),
)
def test_jobs_of_every_client_are_answered(
    kind: str, deployment: Deployment, demanding: GuardedBoard, openai_server: OpenAIServer
) -> None:
    environment = deployment.environment | addresses(demanding, kind)
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})

    async def awaited() -> str:
        async with AsyncQuerymill(settings=settings) as mill:
            return (await (await mill.submit(texts("coroutine"))).result(timeout=30)).state

    with WorkerProcess(environment, threads=4) as worker:
        with Querymill(settings=settings) as mill:
            assert mill.submit(texts("thread")).result(timeout=30).state == "done"
        assert asyncio.run(awaited()) == "done"
        with running_gateway(environment) as url:
            asked = urllib.request.Request(
                f"{url}/v1/jobs?wait=30", texts("http").model_dump_json().encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(asked) as response:
                assert json.load(response)["state"] == "done"
        status = CommandLine(environment)("status", "--json")
        assert status.returncode == 0, status.stderr
        assert [queue["waiting"] for queue in json.loads(status.stdout)["fleet"]["queues"]] == [0] * 6
        assert PASSWORD not in worker.log


@pytest.mark.parametrize(
    ("what", "setting"),
    [
        pytest.param("worker", "REDIS_URL", marks=pytest.mark.nightly),
        pytest.param("worker", "CELERY_BROKER_URL", marks=pytest.mark.nightly),
        pytest.param("gateway", "REDIS_URL", marks=pytest.mark.nightly),
        ("doctor", "REDIS_URL"),
    ],
)
def test_no_program_says_the_password_to_a_listener_without_tls(
    what: str, setting: str, deployment: Deployment
) -> None:
    commands = {
        "worker": ["-m", "celery", "-A", "querymill_workers.app", "worker", "-P", "threads", "-c", "1"],
        "gateway": ["-m", "querymill.gateway", "--port", "0", "--host", "0.0.0.0"],
    }
    command = commands.get(what, ["-m", "querymill", *what.split()])
    with plain_listener() as listener:
        address = {setting: f"rediss://worker:{PASSWORD}@127.0.0.1:{listener.port}/0"}
        quiet = subprocess.DEVNULL
        environment = os.environ | deployment.environment | address
        with subprocess.Popen([sys.executable, *command], env=environment, stdout=quiet, stderr=quiet) as process:
            until = time.monotonic() + 60
            while not listener.heard and time.monotonic() < until:
                time.sleep(0.1)
            with suppress(subprocess.TimeoutExpired):  # it tries again, and in other ways
                process.wait(5)
            process.kill()
        heard = b"".join(listener.heard)
    assert heard
    assert PASSWORD.encode() not in heard
    assert b"AUTH" not in heard.upper()
