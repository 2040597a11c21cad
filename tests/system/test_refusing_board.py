"""A board that refuses writes for a while: callers get 503 or exit code 3, and workers wait until it takes them."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from querymill import EmbedTexts, Querymill
from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import GatewayHere
from tests.fixtures.refusing_boards import WAYS, RefusingBoard, refusing, refusing_board
from tests.fixtures.short_forms import all_at_night, crossed

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
TOOL_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": "search", "arguments": {"collection": "c", "query": "ships"}}}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[RefusingBoard]:
    with refusing_board() as board:
        with closing(ValkeyBoard.connect(Settings(redis_url=board.url))) as opened:
            opened.add_collections("reports", ["c"])
        yield board


@pytest.fixture
def environment(deployment: Deployment, server: RefusingBoard) -> dict[str, str]:
    return deployment.environment | {"REDIS_URL": server.url}


@pytest.fixture
def settings(environment: dict[str, str]) -> Settings:
    return Settings.model_validate({name.lower(): value for name, value in environment.items()})


def texts(name: str) -> EmbedTexts:
    return EmbedTexts.model_validate({"collection": "c", "texts": [{"id": name, "text": f"nine ships {name}"}]})


def asked(url: str, job_id: str) -> dict[str, httpx.Response]:
    """What each route answers."""
    line = json.dumps({"sha1": "a1", "title": "t", "company": "c", "pages": [{"page": 1, "text": "ships"}]})
    with httpx.Client(base_url=url, timeout=30) as client:
        return {
            "ready": client.get("/readyz"),
            "submit": client.post("/v1/jobs", content=texts("http").model_dump_json(), headers=JSON),
            "upload": client.post(
                "/v1/collections/c/reports", content=line, headers={"Content-Type": "application/x-ndjson"}
            ),
            "jobs": client.get("/v1/jobs"),
            "job": client.get(f"/v1/jobs/{job_id}"),
            "events": client.get(f"/v1/jobs/{job_id}/events", headers={"Accept": "application/json"}),
            "cancel": client.post(f"/v1/jobs/{job_id}/cancel"),
            "console": client.get("/console"),
            "answer": client.post(
                "/v1/chat/completions", json={"model": "c", "messages": [{"role": "user", "content": "?"}]}
            ),
        }


@pytest.mark.parametrize("way", all_at_night(WAYS, short=["MISCONF", "BUSY"]))
def test_no_route_takes_a_refusal_for_a_defect(settings: Settings, server: RefusingBoard, way: str) -> None:
    with GatewayHere(settings) as gateway, Querymill(settings=settings) as mill:
        job = mill.submit(texts("before"))
        assert httpx.get(f"{gateway.url}/readyz").status_code == 200
        with refusing(server, way):
            found = asked(gateway.url, job.id)
        statuses = {name: response.status_code for name, response in found.items()}
        assert {statuses[name] for name in ("ready", "submit", "upload")} == {503}, statuses
        assert 500 not in statuses.values(), {name: response.text[:300] for name, response in found.items()}
        for name, response in found.items():
            if response.status_code == 503:
                assert response.headers.get("Retry-After") == "1", (name, response.text[:200])
        assert httpx.get(f"{gateway.url}/readyz").status_code == 200


@pytest.mark.parametrize("way", ["NOREPLICAS", "MISCONF", "MASTERDOWN"])
def test_a_tool_of_mcp_says_that_the_board_is_away(settings: Settings, server: RefusingBoard, way: str) -> None:
    with GatewayHere(settings) as gateway, refusing(server, way):
        answer = httpx.post(f"{gateway.url}/mcp", json=TOOL_CALL, headers=JSON, timeout=30)
    assert answer.status_code in (200, 503)
    if answer.status_code == 200:
        assert "cannot be reached just now" in answer.text


@pytest.mark.parametrize(("command", "way"), crossed(["search", "keys"], ["NOREPLICAS", "MASTERDOWN"]))
def test_commands_end_with_3_and_name_the_remedy(
    environment: dict[str, str], server: RefusingBoard, way: str, command: str
) -> None:
    words = {
        "search": ("search", "reports", "how many ships?", "--collection", "c"),
        "keys": ("keys", "add", "web", "--collection", "c"),
    }[command]
    with refusing(server, way):
        ran = CommandLine(environment)(*words)
    assert ran.returncode == 3, ran.stderr
    assert f"board: {way}" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("way", all_at_night(["NOREPLICAS", "MISCONF", "READONLY"], short=["MISCONF"]))
def test_workers_wait_until_the_board_takes_writes_again(
    environment: dict[str, str], settings: Settings, server: RefusingBoard, way: str, openai_server: OpenAIServer
) -> None:
    with WorkerProcess(environment, threads=4) as worker, Querymill(settings=settings) as mill:
        assert mill.submit(texts(f"{way} first")).result(timeout=30).state == "done"
        openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=1.0)
        waiting = [mill.submit(texts(f"{way} {number}")) for number in range(3)]
        with refusing(server, way):
            time.sleep(6)
            assert worker.is_alive
        assert [job.result(timeout=60).state for job in waiting] == ["done"] * 3
        assert mill.submit(texts(f"{way} last")).result(timeout=30).state == "done"
        assert worker.is_alive


def test_the_metrics_of_a_worker_are_for_its_own_machine(environment: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    elsewhere = "127.0.0.3"
    chosen = {"QUERYMILL_METRICS_PORT": str(port)}
    with WorkerProcess(environment | chosen, threads=1):
        assert httpx.get(f"http://127.0.0.1:{port}/metrics").status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://{elsewhere}:{port}/metrics")
    with WorkerProcess(environment | chosen | {"QUERYMILL_METRICS_HOST": "0.0.0.0"}, threads=1):
        assert httpx.get(f"http://{elsewhere}:{port}/metrics").status_code == 200
    shown = CommandLine(environment | NO_MODELS | {"QUERYMILL_METRICS_HOST": "0.0.0.0"})("doctor")
    assert "QUERYMILL_METRICS_HOST" in shown.stdout
