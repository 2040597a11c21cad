"""The TypeScript client: its types fit the OpenAPI document, its locks name no registry, and Node's tests pass."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from uuid import uuid4

import pytest

from querymill import EmbedTexts, TextToEmbed
from querymill_embedded import free_ports
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.settings import Settings
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.typescript import CLIENT, TYPES, digest_of, schemas, written_digest

#: Events of the long job, and the characters of each: more than what can wait unread between it and its reader.
EVENTS, EVENT_CHARS = 600, 30_000


def test_the_types_are_those_of_the_document() -> None:
    assert written_digest(TYPES.read_text(encoding="utf-8")) == digest_of(schemas()), (
        "the contracts have changed: python -m tests.fixtures.typescript writes the types again"
    )


def test_a_change_of_a_field_is_seen_and_a_change_of_words_is_not() -> None:
    found = schemas()
    report = found["Report"]
    described = {**found, "Report": {**report, "description": "Something else.", "title": "Other"}}
    assert digest_of(described) == digest_of(found)
    fields = {name: field for name, field in report["properties"].items() if name != "title"}
    assert digest_of({**found, "Report": {**report, "properties": fields}}) != digest_of(found)


def test_the_locks_name_no_registry() -> None:
    for lock in (CLIENT / "package-lock.json", CLIENT / "generator" / "package-lock.json"):
        text = lock.read_text(encoding="utf-8")
        assert '"integrity"' in text
        assert '"resolved"' not in text


def test_the_client_has_no_dependency_of_its_own() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert not {"dependencies", "optionalDependencies", "peerDependencies"} & package.keys()


def run_node(command: list[str], environment: Mapping[str, str] | None = None, *, timeout_s: float = 120) -> str:
    """Run a command of Node or npm in the client's folder, and end all that it has started."""
    with subprocess.Popen(
        command, cwd=CLIENT, env=os.environ | dict(environment or {}), text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            pytest.fail(f"{command} did not end:\n{said}")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, said
    return said


@pytest.fixture(scope="module")
def built() -> str:
    """The client and its tests, built by npm. Returns the program that runs them."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node and npm are not installed")
    version = re.match(r"v(\d+)", run_node([node, "--version"]))
    if version is None or int(version[1]) < 20:
        pytest.skip("Node is older than 20")
    if not (CLIENT / "node_modules" / "typescript").is_dir():
        try:
            run_node([npm, "ci", "--no-audit", "--no-fund"])
        except AssertionError as error:
            pytest.skip(f"npm cannot install the compiler: {error}")
    run_node([npm, "run", "--silent", "build:tests"])
    return node


def test_what_needs_no_gateway(built: str) -> None:
    run_node([built, "--test", "tests/pure.test.js"])


def job_on(board: ValkeyBoard) -> str:
    return board.submit(EmbedTexts(collection="streams", texts=(TextToEmbed(id="a", text=uuid4().hex),)))[0]


def long_job(board: ValkeyBoard) -> str:
    """A job that has ended, with many long events."""
    job_id = job_on(board)
    for number in range(EVENTS):
        board.append_event(job_id, Progress(stage="x" * EVENT_CHARS, done=number, total=EVENTS))
    board.settle(job_id, Verdict("done", result="{}"))
    return job_id


def failed_job(board: ValkeyBoard) -> str:
    job_id = job_on(board)
    board.settle(job_id, Verdict("failed", reason="the embedding model refused"))
    return job_id


def test_against_gateways_that_run(
    built: str, gateway: str, quiet_gateway: GatewayHere, quiet: Settings, board: ValkeyBoard,
    deployment: Deployment, filings: str,
) -> None:  # fmt: skip
    port = free_ports(["gateway"], preferred={})["gateway"]
    environment = deployment.environment | {
        "REDIS_URL": quiet.redis_url,
        "WORKED_URL": gateway,
        "QUIET_URL": quiet_gateway.url,
        "LONG_JOB": long_job(board),
        "LONG_BYTES": str(EVENTS * EVENT_CHARS),
        "FAILED_JOB": failed_job(board),
        "GATEWAY_URL": f"http://127.0.0.1:{port}",
        "GATEWAY_COMMAND": json.dumps([sys.executable, "-m", "querymill.gateway", "--port", str(port)]),
    }
    run_node([built, "--test", "tests/gateway.test.js"], environment, timeout_s=2 * PATIENCE_S)
