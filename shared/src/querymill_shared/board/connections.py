"""Connection pools for the board's server.

redis-py's own pool holds at most 100 connections and raises when none is free. With these pools the caller waits
instead. Commands and blocking reads have separate pools: a command takes a millisecond and must not queue behind a
read that waits two seconds for an event.
"""

from typing import Any, Final

import redis
import redis.asyncio

#: With the library's defaults, a half-open connection hangs a producer or a worker for ever.
OPTIONS: Final[dict[str, Any]] = {
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 5,
}
#: Connections for commands. The server runs commands one at a time, so far fewer keep it busy,
#: however many threads a process has.
COMMANDS: Final = 32
#: How long a command waits for a free connection, in seconds. A dead server holds one for less.
COMMAND_WAIT_S: Final = 20.0
#: Connections for blocking reads. A process may usually open 1,024 files, and a gateway also needs one for each
#: caller. If there are more readers than this, they take turns.
WAITING_READS: Final = 256


def open_commands(url: str, *, decode_responses: bool = True) -> redis.Redis:
    """Open a client for commands. It connects on first use.

    Raises (when used):
        redis.ConnectionError: The server is unreachable, or no connection became free within `COMMAND_WAIT_S`.
    """
    return redis.Redis.from_pool(
        redis.BlockingConnectionPool.from_url(
            url,
            max_connections=COMMANDS,
            timeout=COMMAND_WAIT_S,
            decode_responses=decode_responses,
            **OPTIONS,
        )
    )


def open_waiting_reads(url: str) -> redis.Redis:
    """Open a client for blocking reads. A caller that finds no free connection waits for one."""
    return redis.Redis.from_pool(
        redis.BlockingConnectionPool.from_url(
            url, max_connections=WAITING_READS, timeout=None, decode_responses=True, **OPTIONS
        )
    )


def open_async_commands(url: str) -> redis.asyncio.Redis:
    """Open an asynchronous client for commands; see `open_commands`."""
    return redis.asyncio.Redis.from_pool(
        redis.asyncio.BlockingConnectionPool.from_url(
            url, max_connections=COMMANDS, timeout=COMMAND_WAIT_S, decode_responses=True, **OPTIONS
        )
    )


def open_async_waiting_reads(url: str) -> redis.asyncio.Redis:
    """Open an asynchronous client for blocking reads; see `open_waiting_reads`."""
    return redis.asyncio.Redis.from_pool(
        redis.asyncio.BlockingConnectionPool.from_url(
            url, max_connections=WAITING_READS, timeout=None, decode_responses=True, **OPTIONS
        )
    )
