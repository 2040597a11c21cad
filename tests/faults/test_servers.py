"""Servers that die under the workers: the supervisor brings them back, and the jobs go on."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from querymill import Querymill, ReportSearch
from querymill_embedded import Stack
from querymill_shared.board.connections import open_commands
from tests.fakes.openai_server import OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import GatewayHere, ask
from tests.fixtures.stacks import kill_part
from tests.fixtures.tallies import until


def search(**fields: Any) -> ReportSearch:
    chosen = {"query": f"revenue {time.monotonic_ns()}", "collection": "filings", "deadline": 30}
    return ReportSearch.model_validate(chosen | fields)


def patient_result(mill: Querymill, job_id: str) -> Any:
    """Wait for a result over lost connections, as a caller who means to have it would."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return mill.job(job_id).result(timeout=20)
        except redis.ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.usefixtures("filings")
def test_a_killed_board_server_comes_back_with_its_jobs(
    stack: Stack, mill: Querymill, worker: WorkerProcess, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda request: chat_answer("<another question>", after_s=2.5)
    jobs = [mill.submit(search(multi_query=("variant",))) for _ in range(5)]
    time.sleep(1.5)  # the append-only file is flushed each second
    kill_part(stack, "valkey")
    for job in jobs:
        assert patient_result(mill, job.id).results
    assert patient_result(mill, mill.submit(search()).id).complete


@pytest.mark.usefixtures("filings", "worker")
def test_whoever_waits_when_the_board_server_is_killed_gets_every_event_once_and_the_result(
    stack: Stack, mill: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda request: chat_answer("<another question>", after_s=2.5)
    jobs = [mill.submit(search(multi_query=("variant",))) for _ in range(5)]
    with ThreadPoolExecutor(10) as callers:
        followed = [callers.submit(lambda job: list(job.events(timeout=40)), job) for job in jobs]
        awaited = [callers.submit(job.result, 40) for job in jobs]
        time.sleep(1.5)  # the append-only file is flushed each second
        kill_part(stack, "valkey")
        assert all(future.result().results for future in awaited)
        for job, future in zip(jobs, followed, strict=True):
            assert future.result() == list(job.events(timeout=5))


def test_a_gateway_answers_the_first_request_after_the_board_server_was_killed(
    stack: Stack, deployment: Deployment
) -> None:
    with GatewayHere(deployment.settings) as gateway, open_commands(deployment.settings.redis_url) as client:
        assert ask(f"{gateway.url}/readyz")[0] == 200
        kill_part(stack, "valkey")
        until(lambda: answers(client), within_s=60)
        assert ask(f"{gateway.url}/readyz")[0] == 200


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@pytest.mark.usefixtures("filings", "worker")
def test_a_killed_database_costs_attempts_not_jobs(stack: Stack, mill: Querymill) -> None:
    kill_part(stack, "postgres")
    assert mill.submit(search()).result(timeout=30).complete
