"""Free ports on the loopback."""

import secrets
import socket
from collections.abc import Iterable, Mapping

from querymill_embedded.errors import StackError
from querymill_embedded.parts import LOOPBACK

#: These are below the ports that systems give to outgoing connections, so no such connection can take the port of a
#: crashed part while it restarts.
_CANDIDATES = range(20_000, 30_000)
_ATTEMPTS = 200


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # The servers set this too: connections in TIME_WAIT do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def free_ports(names: Iterable[str], *, preferred: Mapping[str, int]) -> dict[str, int]:
    """Return a distinct free port for each name: the preferred one if it is free, else a random one.

    Raises:
        StackError: no free port was found in many attempts.
    """
    chosen: dict[str, int] = {}
    for name in names:
        wanted = preferred.get(name)
        if wanted is not None and wanted not in chosen.values() and is_free(wanted):
            chosen[name] = wanted
        else:
            chosen[name] = _random_free_port(taken=frozenset(chosen.values()))
    return chosen


def _random_free_port(*, taken: frozenset[int]) -> int:
    for _ in range(_ATTEMPTS):
        port = secrets.choice(_CANDIDATES)
        if port not in taken and is_free(port):
            return port
    raise StackError(f"no free port on {LOOPBACK} between {_CANDIDATES.start} and {_CANDIDATES.stop - 1}")
