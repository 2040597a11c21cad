"""A RabbitMQ of the system's own package, in a folder of its own, for tests of the other broker."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import kombu
import pytest
from amqp import AMQPError

from querymill_embedded import free_ports
from querymill_shared.queues import Queue
from tests.fixtures.certificates import Authority, Issued

_PLACES: Final = Path("/usr/lib/rabbitmq/lib")
_STARTS_WITHIN_S: Final = 120.0
#: Queues belong to a virtual host: each database of the board's server has one, as it has lists of its own.
HOSTS: Final = ("/", *map(str, range(1, 16)))


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


class Rabbit:
    """A server on the loopback, which can be killed and started again with what it stored."""

    def __init__(self, folder: Path, options: str) -> None:
        ports = free_ports(["broker", "nodes", "names", "tls"], preferred={})
        self.port, nodes, names, self._tls_port = ports.values()
        self._folder, self.name = folder, f"qm{self.port}@localhost"
        self._server: subprocess.Popen[bytes] | None = None
        self.environment = os.environ | {
            "ERL_EPMD_PORT": str(names), "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": str(folder),
            "RABBITMQ_NODENAME": self.name, "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_DIST_PORT": str(nodes),
            "RABBITMQ_MNESIA_BASE": str(folder), "RABBITMQ_LOG_BASE": str(folder), "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(folder / "server"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            # Idle schedulers of Erlang would spin on the processors that the tests share.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"+sbwt none +sbwtdcpu none +sbwtdio none {options}",
        }  # fmt: skip

    def url(self, host: str = "/") -> str:
        """The address of a virtual host."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/{host}"

    @property
    def tls_url(self) -> str:
        """The address where it listens with TLS."""
        return f"amqps://guest:guest@127.0.0.1:{self._tls_port}//"

    def listening(self, tls: Tls) -> str:
        """Return what configures it to listen with TLS, on both versions of IP."""
        return f"""
listeners.ssl.1 = 127.0.0.1:{self._tls_port}
listeners.ssl.2 = ::1:{self._tls_port}
ssl_options.cacertfile = {tls.authority.certificate}
ssl_options.certfile = {tls.server.certificate}
ssl_options.keyfile = {tls.server.key}
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
"""

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        program = rabbitmq_server()
        assert program is not None
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [program], env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not self.answers():
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self._folder / "log").read_text()[-2000:])
            time.sleep(0.2)

    def answers(self) -> bool:
        """Whether somebody can connect."""
        try:
            with kombu.Connection(self.url(HOSTS[-1]), connect_timeout=2) as connection:
                connection.connect()
        except (OSError, AMQPError):
            return False
        return True

    def kill(self) -> None:
        """kill -9, as a machine that dies would."""
        self._signal(signal.SIGKILL)
        if self._server is not None:
            self._server.wait()

    def freeze(self) -> None:
        """Let it take bytes and never answer."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def ask(self, *command: str) -> list[list[str]]:
        """Run a command of rabbitmqctl; returns the rows and columns of what it says."""
        program = rabbitmq_server()
        assert program is not None
        said = subprocess.run(
            [program.with_name("rabbitmqctl"), "-q", *command], env=self.environment, check=True,
            capture_output=True, text=True,
        ).stdout  # fmt: skip
        return [line.split("\t") for line in said.splitlines()]

    def _signal(self, number: signal.Signals) -> None:
        if self._server is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._server.pid, number)


def need_rabbit() -> None:
    """Skip where no RabbitMQ is installed. Fail there if this is the continuous integration."""
    if rabbitmq_server() is None:
        why = "no RabbitMQ is installed: apt-get install rabbitmq-server"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)


@contextmanager
def rabbit(options: str = "", *, tls: Tls | None = None) -> Iterator[Rabbit]:
    """Run a server on the loopback. ``options`` are Erlang's, such as ``-rabbit consumer_timeout 20000``."""
    need_rabbit()
    with tempfile.TemporaryDirectory(prefix="qm-rabbit-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        allowed = {"user": "guest", "configure": ".*", "write": ".*", "read": ".*"}
        (folder / "definitions").write_text(json.dumps({
            "users": [{"name": "guest", "password": "guest", "tags": ["administrator"]}],
            "vhosts": [{"name": host} for host in HOSTS],
            "permissions": [allowed | {"vhost": host} for host in HOSTS],
        }))  # fmt: skip
        server = Rabbit(folder, options)
        listening = "" if tls is None else server.listening(tls)
        (folder / "server.conf").write_text(f"load_definitions = {folder}/definitions\n{listening}")
        quiet = subprocess.DEVNULL
        # The server would leave a daemon of names behind; this one is stopped here.
        with subprocess.Popen(["epmd"], env=server.environment, stdout=quiet, stderr=quiet) as names:
            try:
                server.start()
                yield server
            finally:
                server.kill()
                names.kill()


def of_board(broker_url: str, board_url: str) -> str:
    """Return the virtual host that goes with a database of the board's server, or "" if the broker is none of ours."""
    if not broker_url.startswith("amqp://guest:guest@127.0.0.1:"):
        return broker_url
    number = board_url.rpartition("/")[2]
    return urlsplit(broker_url)._replace(path=f"/{number}").geturl() if number in HOSTS else broker_url


def purge(url: str, queues: list[str]) -> None:
    """Lose every message that waits in the queues."""
    with kombu.Connection(url) as connection:
        for queue in queues:
            kombu.Queue(queue, channel=connection.default_channel).purge()


@contextmanager
def channel_to_empty(rabbit: Rabbit, host: str) -> Iterator[Any]:
    """Yield a channel to a virtual host whose queues are deleted before."""
    with kombu.Connection(rabbit.url(host)) as connection:
        for queue in Queue:
            kombu.Queue(queue.value, channel=connection.default_channel).delete()
        yield connection.default_channel
