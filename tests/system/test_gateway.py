"""The HTTP gateway as a process of its own."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.deployment import Deployment


@pytest.fixture(scope="module")
def gateway(deployment: Deployment) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "querymill.gateway", "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | deployment.environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/healthz").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def ask(url: str, body: object = None) -> tuple[int, Any, str]:
    """Send a request; status, decoded body and media type."""
    sent = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    request = urllib.request.Request(url, data=sent, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            text, media = answer.read().decode(), answer.headers.get_content_type()
            return answer.status, json.loads(text) if media.endswith("json") else text, media
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read()), error.headers.get_content_type()


def test_it_lives_and_is_ready(gateway: str) -> None:
    assert ask(f"{gateway}/healthz")[:2] == (200, {"status": "ok"})
    assert ask(f"{gateway}/readyz")[:2] == (200, {"status": "ready"})


def test_metrics_are_the_fleets(gateway: str) -> None:
    status, text, media = ask(f"{gateway}/metrics")
    assert (status, media) == (200, "text/plain")
    assert "querymill_budget_pauses_total" in text


def test_what_is_not_there_is_a_problem(gateway: str) -> None:
    status, body, media = ask(f"{gateway}/v2/anything")
    assert (status, media, body["status"], body["title"]) == (404, "application/problem+json", 404, "Not Found")
