"""Whether a fleet that was just started is ready: a worker listens on each queue, and the gateway says so itself."""

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

import redis

from querymill.cli.exits import Unreachable
from querymill.keys import NONE_STORED
from querymill_shared.board import lives
from querymill_shared.board.connections import open_commands
from querymill_shared.queues import Queue

#: Workers and a gateway that are not ready after this long, in seconds, need a look at their logs.
READY_WITHIN_S = 60.0
#: Workers that live are given this long.
ALIVE_WITHIN_S = 600.0
_PAUSE_S = 0.1
#: How often it is asked whether workers live.
_LOOK_S = 2.0


def _none_live() -> bool:
    return False


def await_listeners(
    environment: Mapping[str, str],
    *,
    are_alive: Callable[[], bool] = _none_live,
    within_s: float = READY_WITHIN_S,
    alive_within_s: float = ALIVE_WITHIN_S,
) -> None:
    """Return once a worker listens on each queue of the board that ``REDIS_URL`` names.

    Workers whose processes ``are_alive`` are waited for longer: a busy machine takes minutes to start them.

    Raises:
        Unreachable: a queue is without a worker after ``within_s`` seconds, or after ``alive_within_s`` if the workers
            live; the message names it, and whether they still start.
    """
    with open_commands(environment["REDIS_URL"]) as client:
        missing = _await(lambda: _deserted(client), within_s)
        end = time.monotonic() + alive_within_s - within_s
        while missing and time.monotonic() < end and are_alive():
            missing = _await(lambda: _deserted(client), _LOOK_S)
    if missing and are_alive():
        raise Unreachable(
            f"the workers of {', '.join(missing)} are still starting; `querymill status` says when they listen"
        )
    if missing:
        raise Unreachable(f"no worker listens on {', '.join(missing)}; `querymill status` names the logs")


def await_gateway(port: int, *, serves: Callable[[], bool], within_s: float = READY_WITHIN_S) -> None:
    """Return once the gateway on this port of the loopback address answers 200 to ``/readyz``, or only lacks keys.

    Keys are made on the board, so they can only be made once it runs.
    ``serves`` tells whether the process that listens there is the gateway which was started: the answer of another
    process does not count.

    Raises:
        Unreachable: it does not within ``within_s`` seconds; the message ends with its last answer.
    """
    missing = _await(lambda: _unready(port, serves), within_s)
    if missing:
        raise Unreachable(f"the gateway on port {port} is not ready: {missing[0]}")


def _await(missing: Callable[[], list[str]], within_s: float) -> list[str]:
    """Return what is still missing when the time is up."""
    end = time.monotonic() + within_s
    while (still := missing()) and time.monotonic() < end:
        time.sleep(_PAUSE_S)
    return still


def _deserted(client: redis.Redis) -> list[str]:
    heard = lives.listening(lives.read_lives(client))
    return [queue.value for queue in Queue if not heard[queue]]


def _unready(port: int, serves: Callable[[], bool]) -> list[str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        status, body = response.status, response.read().decode(errors="replace")
    except (OSError, HTTPException) as error:
        return [f"/readyz did not answer ({type(error).__name__})"]
    finally:
        connection.close()
    if status != HTTPStatus.OK and NONE_STORED not in body:
        return [f"/readyz answered {status}"]
    if not serves():
        return ["another process listens there; run `querymill down`, then `querymill up --port N` with a free port"]
    return []
