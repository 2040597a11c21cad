"""A fleet on addresses of IPv6, whose PostgreSQL proves its name and has several hosts."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
import redis

from querymill import Querymill, Settings
from querymill.cli.doctor import diagnose
from querymill_embedded import free_ports
from querymill_embedded.wheels import valkey_server
from querymill_workers.postgres.migrate import check
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.certificates import Authority
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.people import Person, document, ingestion, search
from tests.fixtures.poolers import pooler
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.tallies import until


def has_version_6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_version_6 = pytest.mark.skipif(not has_version_6(), reason="this machine has no loopback of version 6")
#: Where the server that has TLS listens.
HOSTS = "127.0.0.1,127.0.0.2" + (",::1" if has_version_6() else "")


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    with tempfile.TemporaryDirectory(prefix="qm-verify-") as folder:
        Path(folder).chmod(0o755)
        yield Authority(Path(folder))


@pytest.fixture(scope="module")
def address(deployment: Deployment, authority: Authority) -> Iterator[str]:
    """An address of the database on TLS alone. The server of the wheel has none, so PgBouncer stands in front of it."""
    issued = authority.issue("database", hosts=("127.0.0.1", "::1", "localhost"))
    if os.geteuid() == 0:
        shutil.chown(issued.key, "nobody")
    with pooler(
        deployment.environment["DATABASE_URL"], listen_addr=HOSTS, client_tls_sslmode="require",
        client_tls_cert_file=str(issued.certificate), client_tls_key_file=str(issued.key), pool_mode="transaction",
    ) as url:  # fmt: skip
        yield url


def verified(address: str, authority: Authority, hosts: str, **parameters: str) -> str:
    """Return the address of a server that must prove its name."""
    read = urlsplit(address)
    named = ",".join(host if host.endswith(":1") else f"{host}:{read.port}" for host in hosts.split(" "))
    query = {"sslmode": "verify-full", "sslrootcert": str(authority.certificate)} | parameters
    asked = "&".join(f"{name}={said}" for name, said in query.items())
    return read._replace(netloc=f"{read.netloc.rpartition('@')[0]}@{named}", query=asked).geturl()


HELD = ["127.0.0.1", "localhost", "127.0.0.1:1 localhost", "127.0.0.1:1 127.0.0.1:1 127.0.0.1"]


@pytest.mark.parametrize("hosts", [*HELD, pytest.param("[::1]", marks=needs_version_6)])
@pytest.mark.parametrize("attributes", ["any", "read-write"])
def test_a_server_that_proves_its_name_is_used(address: str, authority: Authority, hosts: str, attributes: str) -> None:
    check(verified(address, authority, hosts, target_session_attrs=attributes))


@pytest.mark.parametrize(
    "wrong", all_at_night(["another name", "another authority", "no TLS"], short=["another authority"])
)
def test_a_server_that_does_not_is_named(
    deployment: Deployment, address: str, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    wrong: str,
) -> None:  # fmt: skip
    stranger = Authority(tmp_path, "stranger")
    url, said = {
        "another name": (verified(address, authority, "127.0.0.2"), "does not match host name"),
        "another authority": (verified(address, stranger, "127.0.0.1"), "certificate verify failed"),
        "no TLS": (
            verified(deployment.environment["DATABASE_URL"], authority, "127.0.0.1"), "does not support SSL",
        ),
    }[wrong]  # fmt: skip
    environment = deployment.environment | {"DATABASE_URL": url} | NO_MODELS
    run = CommandLine(environment)("migrate", "--check")
    assert (run.returncode, said in run.stderr) == (3, True), run.stderr
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = {finding.name: finding for finding in diagnose()}["PostgreSQL"]
    assert (found.ok, said in found.mend) == (False, True), found
    password = urlsplit(url).password or "none"
    assert password not in run.stderr + found.mend


@contextmanager
def board_of_version_6() -> Iterator[str]:
    port = free_ports(["board"], preferred={})["board"]
    with tempfile.TemporaryDirectory(prefix="qm-six-") as folder:
        command = [str(valkey_server()), "--port", str(port), "--bind", "::1", "--dir", folder, "--save", ""]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process, redis.Redis("::1", port) as client:
            try:
                until(lambda: answers(client), within_s=20)
                yield f"redis://[::1]:{port}/0"
            finally:
                process.kill()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@needs_version_6
def test_a_fleet_on_addresses_of_version_6(
    deployment: Deployment, openai_server: OpenAIServer, address: str, authority: Authority
) -> None:
    metrics, hosts = free_ports(["metrics"], preferred={})["metrics"], "127.0.0.1:1 [::1]"
    with board_of_version_6() as board:
        environment = deployment.environment | {
            "REDIS_URL": board, "DATABASE_URL": verified(address, authority, hosts, target_session_attrs="read-write"),
            "QUERYMILL_METRICS_PORT": str(metrics), "QUERYMILL_METRICS_HOST": "::1",
        }  # fmt: skip
        settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
        collection, person = f"six{uuid4().hex[:8]}", Person.new()
        with WorkerProcess(environment, threads=8), Querymill(settings=settings) as mill:
            finished(mill, ingestion("messages", collection, document("messages", person)))
            assert mill.submit(search("messages", collection, person.text)).result(timeout=30).results
            assert httpx.get(f"http://[::1]:{metrics}/metrics").status_code == 200
        shown = CommandLine(environment | NO_MODELS)("doctor").stdout
    for name in ("PostgreSQL", "walls", "clocks"):
        assert f"ok   {name}" in shown, shown
