"""The client of `cluster` for coroutines."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import redis.asyncio
from redis.asyncio.client import Pipeline
from redis.exceptions import AskError, MovedError
from typing_extensions import override

from querymill_shared.board.cluster import (
    MOVING_PAUSE_S,
    MOVING_S,
    READ_AGAIN_S,
    REDIRECTS,
    is_moving,
    raise_moving,
    raise_uncovered,
    was_refused,
)
from querymill_shared.board.slots import (
    Address,
    NoServer,
    SlotMap,
    grouped,
    is_cluster,
    read_map,
    redirected_to,
    runs_everywhere,
    slot_of,
)

#: Runs commands on one server, in one round trip, and returns the replies. An error of the server is a reply.
Runs = Callable[[redis.asyncio.Redis, Sequence[Any]], Awaitable[list[Any]]]


class AsyncCluster:
    """The servers of a cluster: which of them holds each slot, and a client of each."""

    def __init__(self, seeded_at: Address, open_server: Callable[[Address], redis.asyncio.Redis]) -> None:
        self._open_server = open_server
        self._clients: dict[Address, redis.asyncio.Redis] = {}
        self._read_at = float("-inf")
        self._seeded_at = seeded_at
        self.map = SlotMap(())

    def at(self, address: Address) -> redis.asyncio.Redis:
        """Return the client of a server."""
        if address not in self._clients:
            self._clients[address] = self._open_server(address)
        return self._clients[address]

    async def server_of(self, slot: int) -> Address:
        """Return the server that holds a slot. Raises Unavailable if none does."""
        try:
            return self.map.server_of(slot)
        except NoServer as error:
            await self.refresh()
            raise_uncovered(error)

    async def begin(self) -> None:
        """Read the map for the first time. Raises Unavailable."""
        self.map = await self._read(self._seeded_at)

    async def refresh(self, *, away: Address | None = None) -> None:
        """Read the map again, of a server that is not ``away``. If none answers, it stays as it is."""
        if time.monotonic() < self._read_at + READ_AGAIN_S:
            return
        self._read_at = time.monotonic()
        for address in (*self.map.primaries, *self.map.replicas, self._seeded_at):
            if address == away:
                continue
            try:
                self.map = await self._read(address)
            except redis.RedisError:
                continue
            return

    async def follow(self, command: Sequence[Any], run: Runs) -> Any:
        """Run a command where its key is; see `Cluster.follow`."""
        slot, until, tries = slot_of(command), time.monotonic() + MOVING_S, -1
        asked, commands = await self.server_of(slot), [command]
        while True:
            try:
                reply = (await run(self.at(asked), commands))[-1]
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if time.monotonic() > until or not (is_moving(error) or await self._is_elsewhere(slot, asked, error)):
                    raise
                await asyncio.sleep(MOVING_PAUSE_S)
                asked, commands = await self.server_of(slot), [command]
                continue
            if not isinstance(reply, REDIRECTS):
                return reply
            if time.monotonic() > until:
                raise_moving(reply)
            asked, commands = await self._redirected(reply, asked, command)
            if tries := tries + 1:  # two servers may each name the other
                await asyncio.sleep(MOVING_PAUSE_S)

    async def _redirected(
        self, reply: redis.ResponseError, asked: Address, command: Sequence[Any]
    ) -> tuple[Address, list[Sequence[Any]]]:
        match reply:
            case MovedError():
                asked = redirected_to(reply, asked)
                self.map = self.map.moved(reply.slot_id, asked)
                return asked, [command]
            case AskError():
                return redirected_to(reply, asked), [("ASKING",), command]
            case _:
                return await self.server_of(slot_of(command)), [command]

    async def _is_elsewhere(self, slot: int, asked: Address, error: BaseException) -> bool:
        await self.refresh(away=asked)
        return was_refused(error) and self.map.servers[slot] not in (None, asked)

    async def run_all(self, commands: Sequence[Sequence[Any]], run: Runs) -> list[Any]:
        """Run commands, those of a server in one round trip; see `Cluster.run_all`."""
        replies: list[Any] = [None] * len(commands)
        servers = {slot: await self.server_of(slot) for slot in set(map(slot_of, commands))}
        for server, places in grouped(commands, lambda command: servers[slot_of(command)]).items():
            found = await self._run_at(server, [commands[place] for place in places], run)
            for place, reply in zip(places, found, strict=True):
                replies[place] = reply
        return replies

    async def _run_at(self, server: Address, commands: Sequence[Sequence[Any]], run: Runs) -> list[Any]:
        if len(commands) > 1:
            try:
                replies = await run(self.at(server), commands)
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if not (is_moving(error) or await self._is_elsewhere(slot_of(commands[0]), server, error)):
                    raise
            else:
                return [
                    await self.follow(command, run) if isinstance(reply, REDIRECTS) else reply
                    for command, reply in zip(commands, replies, strict=True)
                ]
        return [await self.follow(command, run) for command in commands]

    async def close(self) -> None:
        """Close the connections to all servers."""
        for client in tuple(self._clients.values()):
            await client.aclose()

    async def _read(self, address: Address) -> SlotMap:
        reply: Any = await self.at(address).execute_command("CLUSTER", "SLOTS")  # type: ignore[no-untyped-call]
        return read_map(reply, address)


class AsyncBoardClient(redis.asyncio.Redis):
    """A client of a server, or of the cluster that the server belongs to, for coroutines of any event loop."""

    _cluster: AsyncCluster | None = None
    _is_one_server: bool | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: Whoever asks first in an event loop asks for all others there.
        self._asking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def its_cluster(self) -> AsyncCluster | None:
        """Return the cluster that the server belongs to, None if it is none. Raises Unavailable."""
        if self._is_one_server is None:
            async with self._asking.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                await self._find_servers()
        return self._cluster

    async def _find_servers(self) -> None:
        if self._is_one_server is None:
            is_one_server = not is_cluster(await _handshake(self))
            if not is_one_server:
                options = self.connection_pool.connection_kwargs
                seeded_at = str(options.get("host", "localhost")), int(options.get("port", 6379))
                cluster = AsyncCluster(seeded_at, self._open_server)
                await cluster.begin()
                self._cluster = cluster
            self._is_one_server = is_one_server

    def _open_server(self, address: Address) -> redis.asyncio.Redis:
        pool: Any = self.connection_pool
        return redis.asyncio.Redis.from_pool(pool.like(host=address[0], port=address[1]))

    @override
    async def execute_command(self, *args: Any, **options: Any) -> Any:
        cluster = await self.its_cluster()
        if cluster is None:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        if runs_everywhere(args):
            servers = [cluster.at(server) for server in cluster.map.primaries]
            return [await client.execute_command(*args, **options) for client in servers][-1]  # type: ignore[no-untyped-call]

        async def run(client: redis.asyncio.Redis, commands: Sequence[Any]) -> list[Any]:
            return await _run_parsed(client, [(command, options if command is args else {}) for command in commands])

        reply = await cluster.follow(args, run)
        if isinstance(reply, Exception):
            raise reply
        return reply

    @override
    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:  # as the library calls it
        return AsyncBoardPipeline(self, transaction=transaction)

    @override
    async def aclose(self, close_connection_pool: bool | None = None) -> None:  # as the library calls it
        await super().aclose(close_connection_pool)
        if self._cluster is not None:
            await self._cluster.close()


class AsyncBoardPipeline(Pipeline):
    """A pipeline whose commands go to the servers that hold their keys: on a cluster it is no transaction."""

    def __init__(self, client: AsyncBoardClient, *, transaction: bool) -> None:
        super().__init__(client.connection_pool, client.response_callbacks, transaction, None)
        self._client = client

    @override
    async def execute(self, raise_on_error: bool = True) -> list[Any]:  # as the library calls it
        cluster = await self._client.its_cluster()
        if cluster is None:
            return await super().execute(raise_on_error)
        stack, self.command_stack = self.command_stack, []
        options_of = {id(args): options for args, options in stack}

        async def run(client: redis.asyncio.Redis, commands: Sequence[Any]) -> list[Any]:
            return await _run_parsed(client, [(command, options_of.get(id(command), {})) for command in commands])

        replies = await cluster.run_all([args for args, _ in stack], run)
        if raise_on_error:
            self.raise_first_error(stack, replies)
        return replies


async def _run_parsed(
    client: redis.asyncio.Redis, asked: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]
) -> list[Any]:
    """Run commands with their options on one server, and return what the client library makes of the replies."""
    pipeline: Any = client.pipeline(transaction=False)
    for command, options in asked:
        pipeline.execute_command(*command, **options)
    replies: list[Any] = await pipeline.execute(raise_on_error=False)
    return replies


async def _handshake(client: redis.asyncio.Redis) -> object:
    """Return what a server said of itself when a connection to it was opened."""
    pool: Any = client.connection_pool
    connection = await pool.get_connection()
    try:
        if getattr(connection, "handshake_metadata", None):
            return connection.handshake_metadata
        await connection.send_command("HELLO")  # version 2 of the protocol begins without
        return await connection.read_response()
    except redis.ResponseError:
        return None
    finally:
        await pool.release(connection)
