"""Connection pools for the board's server.

redis-py's own pool holds at most 100 connections and raises when none is free. With these pools the caller waits
instead. The reader that waits for events has connections of its own: a command takes a millisecond and must not queue
behind a read that waits seconds for an event.
"""

import asyncio
import queue
import threading
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import hiredis
import redis
import redis.asyncio
from redis.exceptions import TryAgainError

from querymill_shared.board.away import raise_explained
from querymill_shared.board.board_client import BoardClient, cluster_of
from querymill_shared.board.cluster_async import AsyncBoardClient
from querymill_shared.board.keys import SHARDS
from querymill_shared.board.sockets import Sound, options_of

#: Connections for commands. The server runs commands one at a time, so far fewer keep it busy,
#: however many threads a process has.
COMMANDS: Final = 32
#: How long a command waits for a free connection while the server answers nobody, in seconds. A dead server holds a
#: connection for less.
COMMAND_WAIT_S: Final = 20.0
#: How long a client that closes waits for its other event loops to close their connections, in seconds.
CLOSE_WAIT_S: Final = 1.0
#: Connections for the commands of a client, which waits for its jobs by one reader. Its threads take turns.
CLIENT_COMMANDS: Final = 2
#: Connections of that reader: one waits for events, one does all else.
WATCHING: Final = 2


class QuickPool(redis.BlockingConnectionPool):
    """A pool whose callers wait for a connection for as long as the server answers any of them.

    A connection that replied a moment ago is lent without a look.
    """

    #: When a caller last gave a connection back that works, in monotonic seconds.
    answered_at = float("-inf")

    def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Lend a connection.

        Raises:
            Unavailable: The server is unreachable, or has answered nobody within the pool's ``timeout``.
        """
        self._checkpid()
        while True:
            asked_at = time.monotonic()
            try:
                return self._lend(*args, **kwargs)
            except redis.RedisError as error:
                if not isinstance(error.__context__, queue.Empty) or self.answered_at < asked_at:
                    raise_explained(error)

    def _lend(self, *args: Any, **kwargs: Any) -> Any:
        try:
            connection = self.pool.get(timeout=self.timeout)
        except queue.Empty:
            raise redis.ConnectionError("no connection became free") from None
        if isinstance(connection, Sound) and connection.is_sound:
            connection.sound_at = float("-inf")
            return connection
        # The library connects it, or looks what became of it.
        self.pool.put_nowait(connection)
        return super().get_connection(*args, **kwargs)  # type: ignore[no-untyped-call]

    def release(self, connection: Any) -> None:
        """Take a connection back."""
        if isinstance(connection, Sound) and connection.is_sound and connection.pid == self.pid:
            self.answered_at = connection.sound_at
            self.pool.put_nowait(connection)
        else:
            if connection.is_connected:
                self.answered_at = time.monotonic()
            super().release(connection)  # type: ignore[no-untyped-call]


def run_command(client: redis.Redis, command: tuple[Any, ...]) -> Any:
    """Run a command on a connection of a client's pool. The library's own way costs twice as much of the processor.

    Raises:
        redis.RedisError: As the library's own way.
    """
    [reply] = run_commands(client, [command])
    if isinstance(reply, redis.ResponseError):
        raise reply
    return reply


def run_commands(client: redis.Redis, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run commands, one after the other, in one round trip. What the server answers with an error is that error.

    Raises:
        redis.RedisError: As the library's own pipeline.
    """
    cluster = cluster_of(client)
    return _run_on(client, commands) if cluster is None else cluster.run_all(commands, _run_on)


def run_each(client: redis.Redis, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run commands that must not wait for each other. Any error of one stands in the place of its reply.

    Raises:
        redis.RedisError: As `run_commands`, if all are asked of one server.
    """
    cluster = cluster_of(client)
    return _run_on(client, commands) if cluster is None else cluster.run_each(commands, _run_on)


def _run_on(client: redis.Redis, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run commands on one server."""
    pool = client.connection_pool
    packed = [b"".join(map(hiredis.pack_command, commands))]
    connection: Any = pool.get_connection()

    def ask() -> list[Any]:
        connection.send_packed_command(packed)
        return [_reply_on(connection) for _ in commands]

    try:
        replies: list[Any] = connection.retry.call_with_retry(ask, lambda _: connection.disconnect())
        connection.sound_at = time.monotonic()
        return replies
    finally:
        pool.release(connection)


def _reply_on(connection: Any) -> Any:
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error
    except redis.RedisError as error:
        # What others of the round trip have done must not be done again.
        if isinstance(error.__cause__, TryAgainError):
            return error.__cause__
        raise


def open_commands(
    url: str,
    *,
    max_connections: int = COMMANDS,
    decode_responses: bool = True,
    wait_s: float = COMMAND_WAIT_S,
    connection_options: Mapping[str, Any] = MappingProxyType({}),
) -> BoardClient:
    """Open a client for commands. It connects on first use, to the servers of a cluster if the address leads to one.

    ``connection_options`` override `sockets.OPTIONS`.

    Raises (when used):
        Unavailable: The server is unreachable, or has answered nobody within ``wait_s``.
    """
    return BoardClient.from_pool(  # type: ignore[return-value]  # it is what it is called on
        QuickPool(  # type: ignore[no-untyped-call]
            **{
                "max_connections": max_connections,
                "timeout": wait_s,
                "decode_responses": decode_responses,
                **options_of(url, changed=connection_options),
            }
        )
    )


def open_watching(url: str) -> redis.Redis:
    """Open a client for the two threads of a reader."""
    client = open_commands(url, max_connections=WATCHING)
    client.connections_each = WATCHING + len(SHARDS)  # on a cluster, each shard has a read that waits
    return client


class PatientPool(redis.asyncio.BlockingConnectionPool):
    """A pool whose callers wait for a connection in turn, for as long as the server answers any of them.

    In the library's own pool, newcomers pass those who wait, and a thousand callers are not served in time.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._turns = asyncio.Semaphore(self.max_connections)
        self._lent: set[Any] = set()
        self._answered_at = float("-inf")

    async def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Lend a connection.

        Raises:
            Unavailable: The server is unreachable, or has answered nobody within the pool's ``timeout``.
        """
        await self._take_turn()
        try:
            connection = await super().get_connection(*args, **kwargs)  # type: ignore[no-untyped-call]
        except redis.RedisError as error:
            self._turns.release()
            raise_explained(error)
        except BaseException:
            self._turns.release()
            raise
        self._lent.add(connection)
        return connection

    async def _take_turn(self) -> None:
        while True:
            asked_at = time.monotonic()
            try:
                async with asyncio.timeout(self.timeout):
                    await self._turns.acquire()
            except TimeoutError:
                if self._answered_at < asked_at:
                    raise_explained(redis.ConnectionError("no connection became free"))
            else:
                return

    async def release(self, connection: Any) -> None:
        """Take a connection back."""
        try:
            await super().release(connection)
        finally:
            if connection in self._lent:
                self._lent.remove(connection)
                if connection.is_connected:
                    self._answered_at = time.monotonic()
                self._turns.release()


class PoolOfEachLoop(redis.asyncio.ConnectionPool):
    """A pool for every event loop that asks: a connection serves only the loop that opened it.

    The connections of a loop are closed when it ends, as far as it ends its asynchronous generators first, as
    `asyncio.run` does.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{name: value for name, value in options.items() if name != "timeout"})
        self._options = options
        self._of_loop: dict[asyncio.AbstractEventLoop, tuple[PatientPool, AsyncGenerator[None]]] = {}
        self._changing = threading.Lock()

    def like(self, **changed: Any) -> "PoolOfEachLoop":
        """Return another pool with some options changed."""
        return PoolOfEachLoop(**{**self._options, **changed})

    async def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Lend a connection of this loop. Raises as `PatientPool.get_connection`."""
        return await (await self._own()).get_connection(*args, **kwargs)

    async def release(self, connection: Any) -> None:
        """Take a connection of this loop back."""
        known = self._of_loop.get(asyncio.get_running_loop())
        if known is None:  # the loop is ending
            await connection.disconnect()
        else:
            await known[0].release(connection)

    async def disconnect(self, inuse_connections: bool = True) -> None:  # noqa: FBT001, FBT002  # as the library calls it
        """Close all connections. Other loops that run close theirs as soon as they come to it.

        What they do next must not meet a connection that is about to close, so this waits for them, but not long: a
        loop may be busy or just ending.
        """
        here = asyncio.get_running_loop()
        with self._changing:
            pools = [(loop, pool) for loop, (pool, _) in self._of_loop.items() if loop.is_running()]
        elsewhere = [
            asyncio.wrap_future(asyncio.run_coroutine_threadsafe(pool.disconnect(inuse_connections), loop))
            for loop, pool in pools
            if loop is not here
        ]
        for loop, pool in pools:
            if loop is here:
                await pool.disconnect(inuse_connections)
        if elsewhere:
            await asyncio.wait(elsewhere, timeout=CLOSE_WAIT_S)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.disconnect()

    async def _own(self) -> PatientPool:
        loop = asyncio.get_running_loop()
        known = self._of_loop.get(loop)
        if known is not None:
            return known[0]
        pool = PatientPool(**self._options)
        ending = self._end_with_loop(loop, pool)
        with self._changing:
            for ended in [other for other in self._of_loop if other.is_closed()]:
                del self._of_loop[ended]
            self._of_loop[loop] = pool, ending
        await anext(ending)
        return pool

    async def _end_with_loop(self, loop: asyncio.AbstractEventLoop, pool: PatientPool) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            with self._changing:
                self._of_loop.pop(loop, None)
            await pool.disconnect()


def open_async_commands(url: str, *, max_connections: int = CLIENT_COMMANDS) -> AsyncBoardClient:
    """Open an asynchronous client for commands, which serves every event loop; see `open_commands`."""
    return AsyncBoardClient.from_pool(  # type: ignore[return-value]  # it is what it is called on
        PoolOfEachLoop(
            **{
                "max_connections": max_connections,
                "timeout": COMMAND_WAIT_S,
                "decode_responses": True,
                **options_of(url, asynchronous=True),
            }
        )
    )
