"""`deploy/systemd`: units that systemd finds right and little exposed, and that run, come back and end under it."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import redis

from querymill_embedded import free_ports
from querymill_shared.queues import Queue
from tests.fixtures import documents
from tests.fixtures.containers import ContainerRefused, need_containers
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S
from tests.fixtures.machines import UNITS, Machine, machine
from tests.fixtures.tallies import until

QUERYMILL: Final = "/opt/querymill/bin/querymill"
SERVICES: Final = ("querymill-gateway.service", "querymill-migrate.service", "querymill-worker@.service")
RUNNING: Final = ("querymill-gateway.service", "querymill-worker@search.service", "querymill-worker@ingest.service")
MAX_EXPOSURE: Final = 4.0
#: Workers that end at once: a setting breaks a rule, what it asks for is not installed, its port is taken.
BROKEN: Final = {
    "rule": "QUEUES=search\nTHREADS=1\nQUERYMILL_LEASE_S=99\n",
    "unsafe": "QUEUES=search\nTHREADS=1\nOTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1\n",
    "away": "QUEUES=search\nTHREADS=1\nQUERYMILL_METRICS_HOST=192.0.2.1\nQUERYMILL_METRICS_PORT=9464\n",
}


def nightly(test: Any) -> Any:
    """Mark what needs a machine of its own."""
    return pytest.mark.nightly(pytest.mark.timeout(900)(test))


def analyze(*words: str, root: Path | None = None) -> str:
    """Run systemd's own check. Skips without it, and fails in the continuous integration, which installs it."""
    if shutil.which("systemd-analyze") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no systemd is installed: apt-get install systemd")
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def verified(units: Sequence[Path]) -> str:
    """What systemd finds wrong with units, but for the programs, which are not installed here."""
    said = analyze("verify", "--man=no", *map(str, units))
    return "\n".join(line for line in said.splitlines() if "is not executable: No such file" not in line)


def test_systemd_finds_nothing_wrong_with_the_units() -> None:
    units = [path.with_name(path.name.replace("@.", "@search.")) for path in UNITS.glob("querymill*")]
    assert len(units) == 4
    assert verified(units) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("MemoryMax=", "MemoryMaximum=", "MemoryMaximum"),
        ("TimeoutStopSec=30", "TimeoutStopSec=long", "ignoring: long"),
        ("~@privileged", "~@privilege", "ignoring: @privilege"),
    ],
)
def test_what_is_wrong_with_a_unit_is_seen(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    text = (UNITS / "querymill-worker@.service").read_text(encoding="utf-8")
    assert right in text
    unit = tmp_path / "querymill-worker@.service"
    unit.write_text(text.replace(right, wrong), encoding="utf-8")
    assert said in verified([unit.with_name("querymill-worker@search.service")])


@pytest.mark.parametrize("unit", SERVICES)
def test_a_unit_is_little_exposed(unit: str) -> None:
    said = analyze("security", "--offline=true", f"--threshold={MAX_EXPOSURE * 10:.0f}", str(UNITS / unit))
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert found is not None, said
    assert float(found[1]) <= MAX_EXPOSURE


def test_the_units_agree_in_what_a_process_may_and_tell_exit_codes_apart() -> None:
    texts = {unit: (UNITS / unit).read_text(encoding="utf-8") for unit in SERVICES}
    bounds = {
        re.sub(r"^#.*\n", "", text[text.index("DynamicUser") : text.index("[Install]")]) for text in texts.values()
    }
    assert len(bounds) == 1
    assert "SuccessExitStatus=143" in texts["querymill-gateway.service"]
    assert re.findall(r"RestartPreventExitStatus=(.*)", texts["querymill-worker@.service"]) == ["2 78"]
    # A secret is a file of one role: the gateway reaches neither the database nor the provider.
    files = {unit: set(re.findall(r"/etc/querymill/secrets/([\w-]+)", text)) for unit, text in texts.items()}
    assert files == {
        "querymill-gateway.service": {"redis-url-gateway"},
        "querymill-migrate.service": {"database-url"},
        "querymill-worker@.service": {"redis-url-worker", "database-url", "openai-api-key"},
    }
    assert not re.search(r"^(?!#).*\b\w+_(?:URL|KEY|URI)=", "\n".join(texts.values()), re.M)


@dataclass(frozen=True)
class Installed:
    """A machine on which the units run, and the address of its gateway."""

    on: Machine
    url: str

    def pid(self, unit: str) -> str:
        """The process of a unit, "0" if none runs."""
        return self.on.show(unit, "MainPID")["MainPID"]


@pytest.fixture(scope="module")
def installed(deployment: Deployment) -> Iterator[Installed]:
    need_containers()
    board = deployment.settings.redis_url.removesuffix("/2") + "/8"
    secret = {"REDIS_URL", "DATABASE_URL"}
    plain = "".join(f"{name}={value}\n" for name, value in deployment.environment.items() if name not in secret)
    port = free_ports(["gateway"], preferred={})["gateway"]
    at, gateway = "/etc/querymill", "querymill-gateway.service"
    moved = (UNITS / gateway).read_text(encoding="utf-8").replace("--port 8080", f"--port {port}")
    secrets = {"redis-url-gateway": board, "redis-url-worker": board, "redis-url-keeper": board, "openai-api-key": ""}
    secrets["database-url"] = deployment.environment["DATABASE_URL"]
    instances = {path.stem.partition("-")[2]: path.read_text(encoding="utf-8") for path in UNITS.glob("worker-*.env")}
    with redis.Redis.from_url(board) as server:
        server.flushdb()
        try:
            with machine() as on:
                on.put({f"/etc/systemd/system/{gateway}": moved, f"{at}/settings.env": plain})
                on.put({f"{at}/worker-{name}.env": text for name, text in (instances | BROKEN).items()})
                on.put({f"{at}/secrets/{name}": value for name, value in secrets.items()}, mode=0o600)
                on.systemctl("daemon-reload")
                workers = [f"querymill-worker@{name}.service" for name in instances]
                on.systemctl("enable", "querymill.target", *SERVICES[:2], *workers)
                on.systemctl("start", "querymill.target")
                yield Installed(on, f"http://127.0.0.1:{port}")
        except ContainerRefused as refused:
            pytest.fail(str(refused))
        finally:
            server.flushdb()


@pytest.fixture(scope="module")
def http(installed: Installed) -> Iterator[httpx.Client]:
    add = f"REDIS_URL_FILE=/etc/querymill/secrets/redis-url-keeper {QUERYMILL} keys add test --collection '*' --json"
    said = installed.on.run("sh", "-c", f"{add} --scope search --scope ingest --scope operate")
    headers = {"Authorization": f"Bearer {json.loads(said)['key']}"}
    with httpx.Client(base_url=installed.url, headers=headers, timeout=PATIENCE_S) as client:
        until(lambda: is_ready(client), within_s=PATIENCE_S)
        yield client


def is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").is_success and len(listening(http)) == len(Queue)
    except httpx.TransportError:
        return False


def listening(http: httpx.Client) -> set[str]:
    return {queue for worker in http.get("/v1/fleet").json()["workers"] for queue in worker["queues"]}


def answered(http: httpx.Client, query: str) -> list[str]:
    asked = {"kind": "reports", "collection": "harbour", "query": query}
    found = http.post("/v1/jobs", params={"wait": 30}, json=asked)
    assert found.status_code == 200, found.text
    return [hit["document"] for hit in found.json()["results"]]


@nightly
def test_the_units_start_and_a_question_about_a_document_is_answered(installed: Installed, http: httpx.Client) -> None:
    assert httpx.get(f"{installed.url}/v1/jobs").status_code == 401
    migrated = installed.on.show("querymill-migrate.service", "Result", "ExecMainStatus")
    assert migrated == {"Result": "success", "ExecMainStatus": "0"}
    tides = documents.pdf(documents.lines("Nordhav Annual Report 2022", "the tide turns at noon"))
    # Read in a process of its own, with limits, below the bounds of the unit.
    sent = http.post(
        "/v1/collections/harbour/reports", params={"wait": 30}, content=tides,
        headers={"Content-Type": "application/pdf"},
    )  # fmt: skip
    assert sent.status_code == 200, sent.text
    assert len(answered(http, "when does the tide turn?")) == 1


@nightly
@pytest.mark.parametrize("unit", RUNNING)
def test_a_process_may_nothing_that_it_does_not_need(installed: Installed, http: httpx.Client, unit: str) -> None:
    pid = installed.pid(unit)
    status = installed.on.run("cat", f"/proc/{pid}/status").splitlines()
    found = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    (user,) = set(found["Uid"].split())
    assert 61_184 <= int(user) <= 65_519, "a user that exists while the unit runs"
    assert {found[f"Cap{name}"].strip("0") for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {""}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
    mounts = installed.on.run("cat", f"/proc/{pid}/mounts").splitlines()
    options = {line.split()[1]: line.split()[3].split(",") for line in mounts}
    assert "ro" in options["/"]
    secrets = installed.on.run("sh", "-c", f"stat -c '%u %a' /run/credentials/{unit}/*").splitlines()
    assert set(secrets) == {f"{user} 400"}


@nightly
@pytest.mark.parametrize("unit", RUNNING)
def test_a_process_that_is_killed_comes_back(installed: Installed, http: httpx.Client, unit: str) -> None:
    before = installed.pid(unit)
    installed.on.systemctl("kill", "--signal=KILL", unit)
    until(lambda: installed.pid(unit) not in {before, "0"}, within_s=30)
    until(lambda: is_ready(http), within_s=PATIENCE_S)
    assert installed.on.show(unit, "NRestarts")["NRestarts"] == "1"
    assert len(answered(http, f"when does the tide turn, {unit}?")) == 1


@nightly
@pytest.mark.parametrize(
    ("instance", "code", "is_final"), [("rule", 2, True), ("unsafe", 78, True), ("away", 75, False)]
)
def test_only_what_may_get_better_by_itself_is_tried_again(
    installed: Installed, http: httpx.Client, instance: str, code: int, is_final: bool
) -> None:
    unit = f"querymill-worker@{instance}.service"
    installed.on.systemctl("start", unit)

    def is_over() -> bool:
        found = installed.on.show(unit, "ActiveState", "NRestarts")
        return found["ActiveState"] == "failed" if is_final else int(found["NRestarts"]) >= 2

    until(is_over, within_s=PATIENCE_S)
    found = installed.on.show(unit, "NRestarts")
    assert f"status={code}/" in installed.on.journal(unit), installed.on.journal(unit)
    assert (found["NRestarts"] == "0") == is_final
    installed.on.systemctl("stop", unit)


def has_ended(installed: Installed, unit: str) -> bool:
    return installed.pid(unit) == "0"


@nightly
def test_stopping_the_target_ends_everything_cleanly(installed: Installed, http: httpx.Client) -> None:
    installed.on.systemctl("stop", "querymill.target")
    for unit in RUNNING:
        until(partial(has_ended, installed, unit), within_s=40)
        found = installed.on.show(unit, "ActiveState", "Result", "ExecMainStatus", "ExecMainCode")
        assert (found["ActiveState"], found["Result"]) == ("inactive", "success"), installed.on.journal(unit)
    # And starting it again is all that a boot does.
    installed.on.systemctl("start", "querymill.target")
    until(lambda: is_ready(http), within_s=PATIENCE_S)
    assert len(answered(http, "and when does the tide turn now?")) == 1
