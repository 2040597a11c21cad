"""Servers that die under the workers: the supervisor brings them back, and the jobs go on."""

import time
from typing import Any

import psutil
import pytest
import redis

from querymill import Querymill, ReportSearch
from querymill_embedded import Stack
from tests.fakes.openai_server import OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess


def pid_of(stack: Stack, name: str) -> int:
    (pid,) = (part.pid for part in stack.status() if part.name == name)
    assert pid is not None
    return pid


def kill(stack: Stack, name: str) -> None:
    """kill -9 a server and wait until the supervisor has another in its place."""
    killed = pid_of(stack, name)
    psutil.Process(killed).kill()
    deadline = time.monotonic() + 20
    while not any(part.name == name and part.pid not in (None, killed) for part in stack.status()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


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
    kill(stack, "valkey")
    for job in jobs:
        assert patient_result(mill, job.id).results
    assert patient_result(mill, mill.submit(search()).id).complete


@pytest.mark.usefixtures("filings", "worker")
def test_a_killed_database_costs_attempts_not_jobs(stack: Stack, mill: Querymill) -> None:
    kill(stack, "postgres")
    assert mill.submit(search()).result(timeout=30).complete
