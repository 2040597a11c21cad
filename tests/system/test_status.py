"""`querymill status` and /metrics on services of one's own."""

import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from querymill import Querymill, ReportSearch
from querymill_shared.board import ValkeyBoard
from querymill_shared.metrics import FleetFigures
from querymill_shared.metrics_port import serve_metrics
from tests.fakes.openai_server import OpenAIServer
from tests.fixtures.boards import empty_board
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment


@pytest.mark.usefixtures("openai_server")
def test_status_shows_the_fleet_of_the_services_that_the_settings_name(
    querymill: CommandLine, mill: Querymill, filings: str
) -> None:
    search = ReportSearch(query="how many ships", collection=filings)
    mill.submit(search).result(timeout=20)
    before = json.loads(querymill("status", "--json").stdout)["fleet"]["jobs"]["reports"]
    mill.submit(search).result(timeout=20)
    run = querymill("status", "--json")
    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout)
    assert (shown["data"], shown["parts"]) == (None, [])
    after = shown["fleet"]["jobs"]["reports"]
    assert after["submitted"] == before["submitted"] + 1
    assert after["ended"]["done"] == before["ended"]["done"] + 1
    assert after["seconds"]["half_within"] > 0
    assert {state["queue"] for state in shown["fleet"]["queues"]} >= {"search", "ingest"}
    printed = querymill("status")
    assert printed.returncode == 0
    assert "half within" in printed.stdout


@pytest.mark.usefixtures("filings")
def test_status_needs_no_embedded_stack(deployment: Deployment) -> None:
    code = """
        import sys
        sys.modules["querymill_embedded"] = None  # as if it were not installed
        from querymill.cli.main import main
        sys.argv = ["querymill", "status", "--json"]
        main()
    """
    environment = os.environ | deployment.environment
    command = [sys.executable, "-c", textwrap.dedent(code)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["fleet"]["jobs"]


def test_a_board_that_is_away_is_named_without_its_password(deployment: Deployment) -> None:
    away = CommandLine(deployment.environment | {"REDIS_URL": "redis://:HUNTER@127.0.0.1:1/0"})
    run = away("status")
    assert run.returncode == 3
    assert "the board does not answer at redis://:***@127.0.0.1:1/0" in run.stderr
    assert "HUNTER" not in run.stderr


def test_metrics_speak_of_jobs_and_queues(
    mill: Querymill, filings: str, board_client: redis.Redis, openai_server: OpenAIServer
) -> None:
    job = mill.submit(ReportSearch(query="how many ships", collection=filings))
    job.result(timeout=20)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve_metrics(board_client, port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        page = answer.read().decode()
    named = {line.split(" ")[0]: float(line.split(" ")[1]) for line in page.splitlines() if not line.startswith("#")}
    assert named['querymill_jobs_submitted_total{kind="reports"}'] >= 1
    assert named['querymill_jobs_ended_total{kind="reports",state="done"}'] >= 1
    assert named['querymill_job_seconds_bucket{kind="reports",le="+Inf"}'] >= 1
    assert named['querymill_job_seconds_sum{kind="reports"}'] > 0
    assert named['querymill_steps_waiting{queue="search"}'] >= 0
    assert named['querymill_slots{queue="search"}'] == 32
    assert named['querymill_workers{queue="search"}'] == 1
    assert {"querymill_leases_lost_total", "querymill_dead_letters"} <= set(named)


def test_of_a_board_that_is_away_the_metrics_say_that_alone() -> None:
    with redis.Redis.from_url("redis://127.0.0.1:1/0") as away:
        (family,) = FleetFigures(away).collect()
    assert [(sample.name, sample.value) for sample in family.samples] == [("querymill_board_up", 0.0)]


@pytest.fixture
def board(deployment: Deployment) -> Iterator[ValkeyBoard]:
    """A board that no worker serves, with one collection."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/5"
    with empty_board(deployment.settings.model_copy(update={"redis_url": url})) as opened:
        opened.add_collections("reports", ["filings"])
        yield opened


@pytest.fixture
def deserted(deployment: Deployment, board: ValkeyBoard) -> CommandLine:
    url = deployment.settings.redis_url.removesuffix("/2") + "/5"
    return CommandLine(deployment.environment | NO_MODELS | {"REDIS_URL": url})


@pytest.mark.nightly  # by day: an ingestion, below
def test_a_search_that_no_worker_will_end_says_so(deserted: CommandLine) -> None:
    run = deserted("search", "reports", "how many ships", "--collection", "filings", "--deadline", "1", "--json")
    assert run.returncode == 1
    assert run.stdout == ""
    warning, error = run.stderr.splitlines()
    assert warning == "no worker listens on `search`"
    assert error.endswith("the wait timed out; no worker listens on `search`")


def test_an_ingestion_that_no_worker_will_end_says_so(deserted: CommandLine, tmp_path: Path) -> None:
    page = {"page": 1, "text": "nine ships"}
    lines = [json.dumps({"sha1": f"s{n}", "title": "t", "company": "c", "pages": [page]}) for n in range(3)]
    path = tmp_path / "reports.jsonl"
    path.write_text("\n".join(lines))
    process = deserted.begin("ingest", "reports", path, "--collection", "c", stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        watchdog = threading.Timer(30, process.kill)
        watchdog.start()
        said = b""
        while b"no worker listens on `ingest`" not in said and (part := process.stderr.read1()):  # type: ignore[attr-defined]
            said += part
        watchdog.cancel()
    finally:
        process.kill()
        process.communicate()
    assert b"no worker listens on `ingest`" in said


def test_status_and_doctor_name_the_queues_without_workers(deserted: CommandLine) -> None:
    run = deserted("status", "--json")
    assert run.returncode == 3
    fleet = json.loads(run.stdout)["fleet"]
    assert fleet["workers"] == []
    assert {queue["queue"]: queue["workers"] for queue in fleet["queues"]}["ingest"] == 0
    findings = {finding["name"]: finding for finding in json.loads(deserted("doctor", "--json").stdout)}
    assert findings["workers"]["ok"] is False
    assert "no worker is alive" in findings["workers"]["mend"]


@pytest.mark.usefixtures("filings")
def test_status_and_doctor_show_the_workers(querymill: CommandLine, deployment: Deployment) -> None:
    fleet = json.loads(querymill("status", "--json").stdout)["fleet"]
    (worker,) = fleet["workers"]
    assert worker["slots"] == 32
    assert set(worker["queues"]) == {"search", "expand", "ingest", "embed", "rerank", "ranks"}
    assert {queue["workers"] for queue in fleet["queues"]} == {1}
    assert worker["name"] in querymill("status").stdout
    findings = {
        finding["name"]: finding
        for finding in json.loads(CommandLine(deployment.environment | NO_MODELS)("doctor", "--json").stdout)
    }
    assert findings["workers"]["ok"] is True
    assert findings["workers"]["value"].startswith("1 alive")


def test_doctor_names_the_queues_on_which_no_worker_listens(deserted: CommandLine, board: ValkeyBoard) -> None:
    board.beat("w@host#1", {"name": "w@host", "queues": ["search", "expand"], "slots": 4})
    findings = {finding["name"]: finding for finding in json.loads(deserted("doctor", "--json").stdout)}
    assert findings["workers"]["ok"] is None
    assert "no worker listens on ingest" in findings["workers"]["mend"]
