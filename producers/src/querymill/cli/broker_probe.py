"""Whether a broker and a cache let the fleet in: its user, its password, and what they may do."""

from typing import Final

import redis

from querymill.cli.probing import DoctorFinding, probe_address
from querymill.extras import NotInstalled, needing
from querymill_shared.board.connections import open_commands
from querymill_shared.rabbit_addresses import is_rabbit
from querymill_shared.urls import has_alternates, is_redis

#: What RabbitMQ needs of the user of a client. A worker needs more, and names the queues that it cannot use.
_RIGHTS: Final = "are its user, password and virtual host right, and may the user write to amq.default?"


def probe_login(name: str, url: str, setting: str) -> DoctorFinding:
    """Connect to a broker or a cache as the fleet does, and have it answer.

    A RabbitMQ is sent a message that no queue takes: only that shows whether its user may ring.
    """
    found = probe_address(name, url, setting)
    if not found.ok:
        return found
    if is_rabbit(url):
        try:
            fault = _fault_of_rabbit(url)
        except NotInstalled as error:
            return DoctorFinding(name, found.value, mend=f"{setting}: its port answers; no more was probed: {error}")
    else:
        fault = _fault_of_redis(url) if is_redis(url) and not has_alternates(url) else None
    return found if fault is None else DoctorFinding(name, found.value, ok=False, mend=f"{setting}: {fault}")


def _fault_of_redis(url: str) -> str | None:
    try:
        with open_commands(url, max_connections=1) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        return f"{error.__cause__ or error}; are its user and password right?"
    return None


def _fault_of_rabbit(url: str) -> str | None:
    with needing("broker", what="to ask RabbitMQ"):
        from querymill_shared.doorbell import refusal_of
    said = refusal_of(url)
    return None if said is None else f"{said}; {_RIGHTS}"
