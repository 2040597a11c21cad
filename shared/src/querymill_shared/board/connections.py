"""Connections to the board's server, lent by pools whose callers wait.

redis-py's own pool refuses the caller who finds no connection free, and holds 100 at most. Here that caller
waits. Commands and reads that wait for news have a pool each: a command is over in a millisecond, and must not
queue behind somebody who waits two seconds for an event.
"""

from typing import Any, Final

import redis
import redis.asyncio

#: A half-open connection must not hang a producer or a worker for ever; the library's defaults do.
OPTIONS: Final[dict[str, Any]] = {
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 5,
}
#: Connections for commands. A server that carries them out one by one is kept busy by far fewer,
#: however many threads a process has.
COMMANDS: Final = 32
#: A command waits this long for a connection, in seconds: longer than a dead server holds one.
COMMAND_PATIENCE_S: Final = 20.0
#: Connections for reads that wait. A process may have 1,024 files open as a rule, and a gateway needs one for each
#: caller too; more callers than this take turns.
WAITING_READS: Final = 256


def open_commands(url: str, *, decode_responses: bool = True) -> redis.Redis:
    """Open a client for commands; connections are made on first use.

    Raises (when used):
        redis.ConnectionError: The server is away, or no connection came free in `COMMAND_PATIENCE_S`.
    """
    return redis.Redis.from_pool(
        redis.BlockingConnectionPool.from_url(
            url,
            max_connections=COMMANDS,
            timeout=COMMAND_PATIENCE_S,
            decode_responses=decode_responses,
            **OPTIONS,
        )
    )


def open_waiting_reads(url: str) -> redis.Redis:
    """Open a client for reads that wait for news; whoever finds no connection free waits for a turn."""
    return redis.Redis.from_pool(
        redis.BlockingConnectionPool.from_url(
            url, max_connections=WAITING_READS, timeout=None, decode_responses=True, **OPTIONS
        )
    )


def open_async_commands(url: str) -> redis.asyncio.Redis:
    """`open_commands`, awaitable."""
    return redis.asyncio.Redis.from_pool(
        redis.asyncio.BlockingConnectionPool.from_url(
            url, max_connections=COMMANDS, timeout=COMMAND_PATIENCE_S, decode_responses=True, **OPTIONS
        )
    )


def open_async_waiting_reads(url: str) -> redis.asyncio.Redis:
    """`open_waiting_reads`, awaitable."""
    return redis.asyncio.Redis.from_pool(
        redis.asyncio.BlockingConnectionPool.from_url(
            url, max_connections=WAITING_READS, timeout=None, decode_responses=True, **OPTIONS
        )
    )
