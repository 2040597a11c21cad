"""The servers of a cluster: which of them holds a command's key, and what they say while it moves.

The client library's own has pools that raise when they are empty, repeats what may not be repeated when a connection
breaks, and asks for rights that the board's users lack.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import redis
from redis.exceptions import AskError, MovedError, TryAgainError

from querymill_shared.board.away import BoardRefuses, BoardUnavailable
from querymill_shared.board.slots import (
    Address,
    NoServer,
    SlotMap,
    grouped,
    read_map,
    redirected_to,
    slot_of,
)

#: Runs commands on one server, in one round trip, and returns the replies. An error of the server is a reply.
Runs = Callable[[redis.Redis, Sequence[Any]], list[Any]]

#: What helps if the broker is a cluster.
BELLS_ELSEWHERE: Final = "a cluster carries no bells: set CELERY_BROKER_URL to RabbitMQ or a Valkey of its own"
#: How long a command is tried again while its slot moves, and how long it waits in between, in seconds.
MOVING_S: Final = 2.0
MOVING_PAUSE_S: Final = 0.02
#: How long it is tried again if others must not wait for it, in seconds.
MOVING_BRIEFLY_S: Final = 0.1
#: The map is read again at most this often while a server is away, in seconds.
READ_AGAIN_S: Final = 0.2
#: What a server says of a command whose key it has not, or not yet.
REDIRECTS: Final = (MovedError, AskError, TryAgainError)
_NAMES: Final[Mapping[type, str]] = {MovedError: "MOVED", AskError: "ASK", TryAgainError: "TRYAGAIN"}


def is_moving(error: BaseException) -> bool:
    """Whether an error says that the keys of a command are being moved to another server."""
    return isinstance(error, TryAgainError) or isinstance(error.__cause__, TryAgainError)


def was_refused(error: BaseException | None) -> bool:
    """Whether nothing of a command was sent, because no server listens at the address."""
    while error is not None and not isinstance(error, ConnectionRefusedError):
        error = error.__cause__ or error.__context__
    return error is not None


def raise_moving(reply: redis.ResponseError) -> NoReturn:
    """Raise Unavailable for a command whose key has been moving for too long."""
    raise BoardRefuses(f"board: {_NAMES[type(reply)]} {reply}; its cluster is moving keys: try again") from reply


def raise_uncovered(error: NoServer) -> NoReturn:
    """Raise that a part of a cluster is away."""
    raise BoardUnavailable(f"board: {error}; start that part of its cluster") from error


def refuse_bells(cluster: object) -> None:
    """Refuse to ring on a cluster, which cannot wait for bells of several queues at once.

    Raises:
        Unavailable: The board is on a cluster, and no other broker is set.
    """
    if cluster is not None:
        raise BoardRefuses(f"board: REDIS_URL leads to a cluster; {BELLS_ELSEWHERE}")


class Cluster:
    """The servers of a cluster: which of them holds each slot, and a client of each."""

    def __init__(self, seed: redis.Redis, open_server: Callable[[Address], redis.Redis]) -> None:
        self._seed = seed
        self._open_server = open_server
        self._clients: dict[Address, redis.Redis] = {}
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        options = seed.connection_pool.connection_kwargs
        self._seeded_at: Address = (str(options.get("host", "localhost")), int(options.get("port", 6379)))
        self.map = self._read(seed, self._seeded_at)

    def at(self, address: Address) -> redis.Redis:
        """Return the client of a server."""
        with self._lock:
            if address not in self._clients:
                self._clients[address] = self._open_server(address)
            return self._clients[address]

    def server_of(self, slot: int) -> Address:
        """Return the server that holds a slot.

        Raises:
            Unavailable: None holds it.
        """
        try:
            return self.map.server_of(slot)
        except NoServer as error:
            self.refresh()
            raise_uncovered(error)

    def primaries(self) -> list[redis.Redis]:
        """Return the clients of all servers that hold slots."""
        return [self.at(address) for address in self.map.primaries]

    def refresh(self, *, away: Address | None = None) -> None:
        """Read the map again, of a server that is not ``away``. If none answers, it stays as it is."""
        with self._lock:
            if time.monotonic() < self._read_at + READ_AGAIN_S:
                return
            self._read_at = time.monotonic()
        for address in (*self.map.primaries, *self.map.replicas, self._seeded_at):
            if address == away:
                continue
            try:
                self.map = self._read(self.at(address), address)
            except redis.RedisError:
                continue
            return

    def follow(self, command: Sequence[Any], run: Runs, *, moving_s: float = MOVING_S) -> Any:
        """Run a command where its key is, wherever that is moved. Return its reply: an error of the server, too.

        Raises:
            Unavailable: The server is away, or the slot has been moving for ``moving_s`` seconds.
        """
        slot, until, tries = slot_of(command), time.monotonic() + moving_s, -1
        asked, commands = self.server_of(slot), [command]
        while True:
            try:
                reply = run(self.at(asked), commands)[-1]
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if time.monotonic() > until or not (is_moving(error) or self._is_elsewhere(slot, asked, error)):
                    raise
                time.sleep(MOVING_PAUSE_S)
                asked, commands = self.server_of(slot), [command]
                continue
            if not isinstance(reply, REDIRECTS):
                return reply
            if time.monotonic() > until:
                raise_moving(reply)
            asked, commands = self._redirected(reply, asked, command)
            if tries := tries + 1:  # two servers may each name the other
                time.sleep(MOVING_PAUSE_S)

    def _redirected(
        self, reply: redis.ResponseError, asked: Address, command: Sequence[Any]
    ) -> tuple[Address, list[Sequence[Any]]]:
        """Return which server to ask next, and what."""
        match reply:
            case MovedError():
                return self.follow_move(reply, asked), [command]
            case AskError():
                return redirected_to(reply, asked), [("ASKING",), command]
            case _:
                return self.server_of(slot_of(command)), [command]

    def follow_move(self, moved: MovedError, asked: Address) -> Address:
        """Note where a slot is now, as the server said that was ``asked``. Return its new server."""
        server = redirected_to(moved, asked)
        with self._lock:
            self.map = self.map.moved(moved.slot_id, server)
        return server

    def _is_elsewhere(self, slot: int, asked: Address, error: BaseException) -> bool:
        """Whether another server has taken the place of one that refused a command."""
        self.refresh(away=asked)
        return was_refused(error) and self.map.servers[slot] not in (None, asked)

    def run_all(self, commands: Sequence[Sequence[Any]], run: Runs) -> list[Any]:
        """Run commands, those of a server in one round trip. An error of the server stands in the place of its reply.

        Raises:
            Unavailable: A server is away. The commands for others may have run.
        """
        replies: list[Any] = [None] * len(commands)
        for server, places in grouped(commands, lambda command: self.server_of(slot_of(command))).items():
            found = self._run_at(server, [commands[place] for place in places], run)
            for place, reply in zip(places, found, strict=True):
                replies[place] = reply
        return replies

    def run_each(self, commands: Sequence[Sequence[Any]], run: Runs) -> list[Any]:
        """Run commands that must not wait for each other. An error stands in the place of its reply, whatever it is."""

        def follow(command: Sequence[Any]) -> Any:
            try:
                return self.follow(command, run, moving_s=MOVING_BRIEFLY_S)
            except redis.RedisError as error:
                return error

        return [follow(command) for command in commands]

    def _run_at(self, server: Address, commands: Sequence[Sequence[Any]], run: Runs) -> list[Any]:
        if len(commands) > 1:
            try:
                replies = run(self.at(server), commands)
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if not (is_moving(error) or self._is_elsewhere(slot_of(commands[0]), server, error)):
                    raise
            else:
                return [
                    self.follow(command, run) if isinstance(reply, REDIRECTS) else reply
                    for command, reply in zip(commands, replies, strict=True)
                ]
        return [self.follow(command, run) for command in commands]

    def scan(self, *args: Any, **options: Any) -> Iterator[Any]:
        """Yield the keys of all servers. After a slot has moved meanwhile, all of them once more."""
        while True:
            before = self.map.servers
            for client in self.primaries():
                yield from client.scan_iter(*args, **options)
            self._read_at = float("-inf")
            self.refresh()
            if self.map.servers == before:
                return

    def close(self) -> None:
        """Close the connections to all servers."""
        for client in tuple(self._clients.values()):
            client.close()

    def disconnect(self) -> None:
        """Close the connections, those that are lent too."""
        for client in tuple(self._clients.values()):
            client.connection_pool.disconnect()

    @staticmethod
    def _read(client: redis.Redis, address: Address) -> SlotMap:
        reply: Any = redis.Redis.execute_command(client, "CLUSTER", "SLOTS")  # type: ignore[no-untyped-call]
        return read_map(reply, address)
