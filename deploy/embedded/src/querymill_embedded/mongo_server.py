"""The MongoDB wire server with a password: sets it on the first start, then becomes the server.

SecantusDB learns its users over the wire only, from a server that demands no password. So the first start on a data
folder runs such a server for a second, on another port, and replaces whatever users it has. Later starts skip this.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from querymill_embedded.network import free_ports
from querymill_embedded.parts import DATABASE, LOOPBACK, Part
from querymill_embedded.passwords import Password

_START_WITHIN_S = 30.0
_POLL_S = 0.02


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    password = Password.of(Part.MONGO, arguments.data)
    if password is None:
        sys.exit(f"{arguments.data} has no password for {Part.MONGO}")
    folder = arguments.data / Part.MONGO
    if not password.is_set:
        with _open_server(folder) as port:
            _set_password(port, password.value)
        password.keep()
    command = server_command(folder, arguments.port, "--auth")
    os.execv(command[0], command)  # noqa: S606 - a list, no shell


def server_command(folder: Path, port: int, *options: str) -> tuple[str, ...]:
    """Return the command of the server. GPL-2.0: run as a separate program, never imported."""
    # An empty configuration keeps the server from reading one in the home folder or in /etc.
    configuration = folder / "secantusd.toml"
    configuration.touch(mode=0o600)
    chosen = {
        "config": str(configuration),
        "host": LOOPBACK,
        "port": str(port),
        "storage-path": str(folder / "storage"),
        "cache-size": "256M",
        "log-level": "WARNING",
    }
    words = [word for name, value in chosen.items() for word in (f"--{name}", value)]
    return (sys.executable, "-P", "-m", "secantus", *words, *options)


@contextmanager
def _open_server(folder: Path) -> Iterator[int]:
    """Run the server without passwords, and yield its port."""
    port = free_ports([Part.MONGO], preferred={})[Part.MONGO]
    with subprocess.Popen(server_command(folder, port)) as server:
        # Whoever stops this program stops that server too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            _await_port(port, server)
            yield port
        finally:
            server.terminate()
            server.wait()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if server.returncode != 0:
        sys.exit("the server did not stop in order; its password is set again at the next start")


def _await_port(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_WITHIN_S
    while True:
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit("the server did not start without passwords, so none could be set")
            time.sleep(_POLL_S)
        else:
            return


def _set_password(port: int, password: str) -> None:
    """Make the application's user the only one there is."""
    try:
        with pymongo.MongoClient[dict[str, Any]](LOOPBACK, port, directConnection=True) as client:
            for database in {"admin", DATABASE, *client.list_database_names()}:
                client[database].command("dropAllUsersFromDatabase")
            client[DATABASE].command("createUser", DATABASE, pwd=password, roles=["readWrite", "dbAdmin"])
    except PyMongoError as error:
        sys.exit(f"the password could not be set: {type(error).__name__}")


if __name__ == "__main__":
    main()
