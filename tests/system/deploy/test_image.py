"""The image of `deploy/image`, built, and run with nothing that it does not need: it answers, and ends when told."""

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import httpx
import pytest

from querymill_embedded import free_ports
from tests.fakes.trace_receiver import TraceReceiver
from tests.fixtures import documents
from tests.fixtures.containers import (
    HARDENED,
    ROOT,
    Container,
    ContainerRefused,
    base_image,
    build,
    container,
    need_containers,
    querymill_image,
)
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S
from tests.fixtures.tallies import until

#: The first build on a machine downloads a Debian and a hundred packages.
pytestmark = pytest.mark.timeout(900)
#: What an orchestrator waits between SIGTERM and SIGKILL, in seconds.
GRACE_S: Final = 15
#: Reads in one go what a process may, and what it may write to.
_LOOK: Final = """
import json, os
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/1/status") if ":\\t" in line)
def can_write(folder):
    try:
        os.close(os.open(f"{folder}/written", os.O_CREAT | os.O_WRONLY))
    except OSError:
        return False
    return True
folders = sorted({here for here, _, _ in os.walk("/") if not here.startswith(("/proc", "/sys"))})
print(json.dumps(status | {"writable": [folder for folder in folders if can_write(folder)]}))
"""
#: Every module that is imported from the image has its byte code beside it, of the same source.
_UNCOMPILED: Final = """
import importlib.util, json, os, struct
from pathlib import Path
found = []
for source in Path("/opt/querymill/lib").rglob("*.py"):
    compiled = Path(importlib.util.cache_from_source(str(source)))
    said = os.stat(source)
    now = struct.pack("<II", int(said.st_mtime) & 0xFFFFFFFF, said.st_size & 0xFFFFFFFF)
    if not compiled.is_file() or compiled.read_bytes()[8:16] != now:
        found.append(str(source))
print(json.dumps(found))
"""
_INSTALLED: Final = """
import importlib.metadata, json
print(json.dumps({found.name.lower().replace("_", "-"): found.version for found in importlib.metadata.distributions()}))
"""


@dataclass(frozen=True)
class Fleet:
    """A worker and a gateway in containers."""

    worker: Container
    gateway: Container
    http: httpx.Client


@pytest.fixture(scope="module")
def image() -> str:
    need_containers()
    try:
        return querymill_image()
    except ContainerRefused as refused:
        pytest.fail(str(refused))


@pytest.fixture(scope="module")
def fleet(image: str, deployment: Deployment) -> Iterator[Fleet]:
    port = free_ports(["gateway"], preferred={})["gateway"]
    environment = deployment.environment | {"REDIS_URL": deployment.settings.redis_url.removesuffix("/2") + "/9"}
    with ExitStack() as kept:
        run = partial(container, image, environment=environment)
        worker = kept.enter_context(run("worker", "--threads", "16", "--name", "pod-1"))
        small_disk = (*HARDENED, "--tmpfs", "/tmp:size=4m,mode=1777")
        gateway = kept.enter_context(run("gateway", "--port", str(port), options=small_disk))
        http = kept.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S))
        until(lambda: answers(http), within_s=PATIENCE_S)
        until(lambda: "worker ready" in worker.log, within_s=PATIENCE_S)
        yield Fleet(worker, gateway, http)


def answers(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def printed(where: Container, script: str) -> Any:
    return json.loads(where.run("/opt/querymill/bin/python", "-c", script))


def test_a_question_is_answered(fleet: Fleet) -> None:
    line = {"sha1": "r1", "title": "Nordhav", "company": "Nordhav", "pages": [{"page": 1, "text": "nine ships"}]}
    sent = fleet.http.post(
        "/v1/collections/harbour/reports", params={"wait": 30}, content=json.dumps(line),
        headers={"Content-Type": "application/x-ndjson"},
    )  # fmt: skip
    assert sent.status_code == 200, sent.text
    asked = {"kind": "reports", "collection": "harbour", "query": "how many ships?"}
    found = fleet.http.post("/v1/jobs", params={"wait": 30}, json=asked)
    assert found.status_code == 200, found.text
    assert [hit["document"] for hit in found.json()["results"]] == ["r1"]


@pytest.mark.parametrize(("which", "writable"), [("worker", []), ("gateway", ["/tmp"])])
def test_a_process_may_nothing_that_it_does_not_need(fleet: Fleet, which: str, writable: list[str]) -> None:
    found = printed(getattr(fleet, which), _LOOK)
    assert found["Uid"].split() == ["10001"] * 4
    assert found["Gid"].split() == ["10001"] * 4
    assert {found[f"Cap{name}"].strip("0") for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {""}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
    # What the runtime mounts for messages between processes is in memory, and counted as such.
    assert [path for path in found["writable"] if not path.startswith("/dev")] == writable
    assert int(found["VmRSS"].split()[0]) < 300_000, found["VmRSS"]


def test_uploads_use_the_one_folder_that_can_be_written_and_name_it_when_it_is_full(fleet: Fleet) -> None:
    at, pdf = "/v1/collections/harbour/reports", {"Content-Type": "application/pdf"}
    tides = documents.pdf(documents.lines("Nordhav Annual Report 2022", "the tide turns at noon"))
    assert fleet.http.post(at, content=tides, headers=pdf).status_code == 202
    large = tides + b"\n" * 8_000_000
    for refused in (
        fleet.http.post(at, content=large, headers=pdf),
        fleet.http.post(at, files={"file": ("tides.pdf", large)}),
    ):
        assert (refused.status_code, refused.json()["type"]) == (507, "/problems/no-room"), refused.text
    assert "ENOSPC" in fleet.gateway.log
    assert fleet.http.post(at, content=tides, headers=pdf).status_code == 202


def test_every_module_is_compiled_and_every_package_listed(fleet: Fleet) -> None:
    # One file that is no module of Python 3.
    assert {path.rpartition("/")[2] for path in printed(fleet.worker, _UNCOMPILED)} <= {"olefile2.py"}
    installed = printed(fleet.worker, _INSTALLED)
    listed = json.loads(fleet.worker.run("cat", "/opt/querymill/sbom.cdx.json"))
    assert {found["name"].lower().replace("_", "-"): found["version"] for found in listed["components"]} == installed
    locked = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "deploy/image/requirements.lock").read_text(), re.M)
    assert {name for name in installed if not name.startswith("querymill")} <= {name for name, _ in locked}
    assert {"querymill", "querymill-workers"} <= installed.keys()


def test_a_fleet_ends_within_the_grace_of_an_orchestrator(fleet: Fleet) -> None:
    def end(which: Container) -> tuple[float, int]:
        begun = time.monotonic()
        code = which.stop(within_s=GRACE_S)
        return time.monotonic() - begun, code

    with ThreadPoolExecutor(2) as threads:
        ended = list(threads.map(end, (fleet.worker, fleet.gateway)))
    assert [took < GRACE_S for took, _ in ended] == [True, True], ended
    assert {code for _, code in ended} <= {0, 143}


@pytest.mark.nightly  # by day: a gateway makes traces, in test_traces
def test_a_process_of_the_image_makes_traces(image: str, deployment: Deployment) -> None:
    """Nobody can install what it lacks: its root is read-only."""
    with TraceReceiver() as receiver, running_traced(image, deployment.environment | receiver.environment) as http:
        until(lambda: answers(http), within_s=PATIENCE_S)
        trace = "ab" * 16
        assert http.get("/v1/jobs", headers={"traceparent": f"00-{trace}-{'cd' * 8}-01"}).status_code == 200
        assert [span.name for span in receiver.wait_for(trace, bool)] == ["GET"]


@contextmanager
def running_traced(image: str, environment: dict[str, str]) -> Iterator[httpx.Client]:
    port = free_ports(["gateway"], preferred={})["gateway"]
    with (
        container(image, "gateway", "--port", str(port), environment=environment),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as http,
    ):
        yield http


def test_a_base_without_a_digest_is_refused(image: str) -> None:
    by_tag = base_image().partition("@")[0] + ":trixie"
    with pytest.raises(ContainerRefused, match=r"must name an image by its digest .* is localhost/"):
        build(ROOT / "deploy" / "image" / "Dockerfile", ROOT, BASE=by_tag)
