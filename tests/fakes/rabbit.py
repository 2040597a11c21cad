"""A RabbitMQ of the system's own package, in a folder of its own, for tests of the other broker."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import kombu

from querymill_embedded import free_ports
from tests.fixtures.certificates import Authority, Issued

_PLACES = Path("/usr/lib/rabbitmq/lib")


def rabbitmq_server() -> Path | None:
    """Return the server's program, or None if it is not installed. The one on PATH may change the user first."""
    (*_, installed) = (None, *sorted(_PLACES.glob("*/sbin/rabbitmq-server")))
    found = shutil.which("rabbitmq-server")
    return installed or (None if found is None else Path(found))


@dataclass(frozen=True)
class Tls:
    """What a server shows, whom it trusts, and a certificate of a client, which it wants to see."""

    authority: Authority
    server: Issued
    client: Issued


@contextmanager
def rabbit(tls: Tls | None = None) -> Iterator[str]:
    """Run a server on the loopback; yields the URL of the broker. With TLS it listens there, on both versions of IP."""
    program = rabbitmq_server()
    assert program is not None
    ports = free_ports(["broker", "nodes", "names", "tls"], preferred={})
    with tempfile.TemporaryDirectory(prefix="qm-rabbit-") as folder:
        (Path(folder) / "server.conf").write_text("" if tls is None else _listening(tls, ports["tls"]))
        environment = os.environ | {
            "ERL_EPMD_PORT": str(ports["names"]), "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": folder,
            "RABBITMQ_NODENAME": f"qm{ports['broker']}@localhost", "RABBITMQ_NODE_PORT": str(ports["broker"]),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_DIST_PORT": str(ports["nodes"]),
            "RABBITMQ_MNESIA_BASE": folder, "RABBITMQ_LOG_BASE": folder, "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": f"{folder}/server.conf", "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
        }  # fmt: skip
        url = f"amqp://guest:guest@127.0.0.1:{ports['broker']}//"
        quiet = subprocess.DEVNULL
        with (
            # The server would leave a daemon of names behind; this one is stopped here.
            subprocess.Popen(["epmd"], env=environment, stdout=quiet, stderr=quiet) as names,
            subprocess.Popen([program], env=environment, stdout=quiet, stderr=quiet, start_new_session=True) as server,
        ):
            try:
                _await_ready(url, server)
                yield url if tls is None else f"amqps://guest:guest@127.0.0.1:{ports['tls']}//"
            finally:
                os.killpg(server.pid, signal.SIGKILL)
                names.kill()


def _listening(tls: Tls, port: int) -> str:
    return f"""
listeners.ssl.1 = 127.0.0.1:{port}
listeners.ssl.2 = ::1:{port}
ssl_options.cacertfile = {tls.authority.certificate}
ssl_options.certfile = {tls.server.certificate}
ssl_options.keyfile = {tls.server.key}
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
"""


def purge(url: str, queues: list[str]) -> None:
    """Lose every message that waits in the queues."""
    with kombu.Connection(url) as connection:
        for queue in queues:
            kombu.Queue(queue, channel=connection.default_channel).purge()


def _await_ready(url: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            with kombu.Connection(url, connect_timeout=2) as connection:
                connection.connect()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return
