"""A Valkey that is a broker apart from the board: it can be killed and started again with what it stored."""

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from querymill_embedded import free_ports
from querymill_embedded.wheels import valkey_server


class Lists:
    """A server of lists on the loopback, which writes each change to its disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_ports(["valkey"], preferred={})["valkey"]
        self._server: subprocess.Popen[bytes] | None = None

    def url(self) -> str:
        """The address of its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        words = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder), "--appendonly", "yes"]
        quiet = subprocess.DEVNULL
        self._server = subprocess.Popen([str(valkey_server()), *words], stdout=quiet, stderr=quiet)
        until = time.monotonic() + 20
        while not self.answers():
            assert time.monotonic() < until
            time.sleep(0.05)

    def answers(self) -> bool:
        """Whether somebody can connect."""
        with suppress(redis.RedisError), redis.Redis(port=self.port) as client:
            return bool(client.ping())
        return False

    def kill(self) -> None:
        """kill -9, as a machine that dies would."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def freeze(self) -> None:
        """Let it take bytes and never answer."""
        if self._server is not None:
            self._server.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        if self._server is not None:
            self._server.send_signal(signal.SIGCONT)


@contextmanager
def lists() -> Iterator[Lists]:
    """Run such a server."""
    with tempfile.TemporaryDirectory(prefix="qm-lists-") as name:
        server = Lists(Path(name))
        server.start()
        try:
            yield server
        finally:
            server.kill()
