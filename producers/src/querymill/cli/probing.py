"""What the doctor finds, and how it looks whether a server answers at an address."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from querymill_shared.urls import Host, mask, read_address

#: A server that does not answer for this long is away, in seconds.
TIMEOUT_S = 3.0
_PORTS = {
    "": 5432,  # a keyword string
    "postgresql": 5432,
    "postgres": 5432,
    "mongodb": 27017,
    "redis": 6379,
    "rediss": 6379,
    "sentinel": 26379,
    "sentinels": 26379,
    "redis+sentinel": 26379,
    "rediss+sentinel": 26379,
    "amqp": 5672,
    "pyamqp": 5672,
    "amqps": 5671,
}


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One line of the diagnosis; ``ok`` is None if nothing was probed; ``mend`` says what to do, or why."""

    name: str
    value: str
    ok: bool | None = None
    mend: str = ""


def probe_address(
    name: str, url: str, setting: str, *, schemes: Sequence[str] = (), rule: str = "be a URL"
) -> DoctorFinding:
    """Connect to one of the hosts that an address names; without ``schemes`` it may be a URL of any scheme."""
    read = read_address(url)
    if read is None or (read.scheme not in schemes if schemes else not read.scheme):
        mend = f"{setting}: must {rule}, with special characters of the password escaped"
        return DoctorFinding(name, mask(url), ok=False, mend=mend)
    if read.scheme == "mongodb+srv":
        return DoctorFinding(name, read.shown, mend=f"{setting}: not probed: its servers are looked up in DNS")
    default = _PORTS.get(read.scheme, _PORTS.get(read.scheme.partition("+")[0]))
    hosts = [(host, port or default) for host, port in read.hosts]
    if not hosts or any(port is None and not host.startswith("/") for host, port in hosts):
        return DoctorFinding(name, read.shown, mend=f"{setting}: not probed: it names no host and port")
    failures = []
    for host in hosts:
        try:
            _connect(host, database=setting == "DATABASE_URL")
        except (OSError, ValueError) as error:
            failures.append(f"{host[0]}:{host[1]}: {error}")
        else:
            return DoctorFinding(name, read.shown, ok=True)
    mend = f"{setting}: {'; '.join(failures)}; is it running, is the address right?"
    return DoctorFinding(name, read.shown, ok=False, mend=mend)


def _connect(host: Host, *, database: bool) -> None:
    name, port = host
    if not name.startswith("/"):
        socket.create_connection((name, port or 0), TIMEOUT_S).close()
        return
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT_S)
        # libpq expects the folder of the socket.
        connection.connect(f"{name}/.s.PGSQL.{port}" if database else name)
