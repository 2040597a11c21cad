"""Hearing what happens to watched jobs, on a server or on a cluster."""

import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import redis
from redis.exceptions import AskError, MovedError
from typing_extensions import override

from querymill_shared.board import keys
from querymill_shared.board.away import raise_explained
from querymill_shared.board.cluster import MOVING_PAUSE_S, Cluster, is_moving
from querymill_shared.board.connections import run_commands
from querymill_shared.board.slots import Address, slot_of
from querymill_shared.board.sockets import OPTIONS
from querymill_shared.board.watching import Listener, StreamedEvent

#: One read returns at most this many events of each shard.
_READ: Final = 500


class ValkeyListener(Listener):
    """`Listener` on the streams of one watcher, one a shard."""

    def __init__(self, client: redis.Redis, watcher: str) -> None:
        self._client = client
        self._after = _last_ids(client, watcher)
        #: The streams of which something was read that is still there.
        self._read: list[str] = []

    @override
    def hear(self, *, wait_s: float) -> list[StreamedEvent]:
        block = max(1, int(wait_s * 1000))
        # What was read last time is deleted in the same round trip.
        deletions = [_deletion(stream, self._after[stream]) for stream in self._read]
        reading = ("XREAD", "COUNT", _READ, "BLOCK", block, "STREAMS", *self._after.keys(), *self._after.values())
        *_, reply = run_commands(self._client, [*deletions, reading])
        if isinstance(reply, redis.ResponseError):
            raise reply
        # Version 2 of the protocol has lists in the place of maps.
        read: dict[str, Any] = reply if isinstance(reply, dict) else dict(reply or ())
        self._read = list(read)
        self._after |= {stream: entries[-1][0] for stream, entries in read.items()}
        return [_passed_on(flat) for entries in read.values() for _, flat in entries]


@dataclass
class _Wait:
    """A read that waits on a server for what comes to a stream."""

    server: Address
    connection: Any
    until: float


class ClusterListener(Listener):
    """`Listener` on a cluster. One read waits on the keys of one slot only, so each shard has a connection of its own.

    While a slot moves, its events are heard late.
    """

    def __init__(self, cluster: Cluster, client: redis.Redis, watcher: str) -> None:
        self._cluster = cluster
        self._client = client
        self._after = _last_ids(client, watcher)
        self._waits: dict[str, _Wait] = {}
        self._read: list[str] = []

    @override
    def hear(self, *, wait_s: float) -> list[StreamedEvent]:
        try:
            return self._hear(wait_s)
        except BaseException:
            for stream in tuple(self._waits):
                self._end(stream, is_sound=False)
            raise

    def _hear(self, wait_s: float) -> list[StreamedEvent]:
        until = time.monotonic() + wait_s
        if self._read:
            run_commands(self._client, [_deletion(stream, self._after[stream]) for stream in self._read])
            self._read = []
        heard: list[StreamedEvent] = []
        while not heard:
            left_s = until - time.monotonic()
            for stream in self._after:
                if stream not in self._waits:
                    self._begin(stream, max(left_s, 0.001))
            for stream in self._ready(max(left_s, 0.001)):
                heard += self._take(stream)
            if left_s <= 0:
                break
        return heard

    def _begin(self, stream: str, wait_s: float) -> None:
        server = self._cluster.server_of(slot_of(("XRANGE", stream)))
        try:
            connection: Any = self._cluster.at(server).connection_pool.get_connection()
            self._waits[stream] = _Wait(server, connection, time.monotonic() + wait_s + OPTIONS["socket_timeout"])
            block = max(1, int(wait_s * 1000))
            connection.send_command("XREAD", "COUNT", _READ, "BLOCK", block, "STREAMS", stream, self._after[stream])
        except redis.RedisError:
            self._cluster.refresh(away=server)
            raise

    def _ready(self, wait_s: float) -> list[str]:
        """Return the streams whose reads are answered, waiting for the first."""
        if any(time.monotonic() > wait.until for wait in self._waits.values()):
            raise_explained(redis.TimeoutError("no answer to a read that waits for events"))
        with selectors.DefaultSelector() as selector:
            for stream, wait in self._waits.items():
                selector.register(_socket(wait), selectors.EVENT_READ, stream)
            return [key.data for key, _ in selector.select(wait_s)]

    def _take(self, stream: str) -> list[StreamedEvent]:
        wait = self._waits[stream]
        _socket(wait)
        try:
            reply = wait.connection.read_response()
        except (MovedError, AskError) as error:
            self._end(stream, is_sound=True)
            self._leave(error, wait.server)
            return []
        except redis.RedisError as error:
            if not is_moving(error):
                self._cluster.refresh(away=wait.server)
                raise
            self._end(stream, is_sound=True)
            time.sleep(MOVING_PAUSE_S)
            return []
        self._end(stream, is_sound=True)
        read: dict[str, Any] = reply if isinstance(reply, dict) else dict(reply or ())
        for entries in read.values():
            self._after[stream] = entries[-1][0]
            self._read.append(stream)
        return [_passed_on(flat) for entries in read.values() for _, flat in entries]

    def _leave(self, error: MovedError | AskError, asked: Address) -> None:
        """Note where a slot has moved. What still moves can be read when it has arrived."""
        if isinstance(error, MovedError):
            self._cluster.follow_move(error, asked)
        else:
            time.sleep(MOVING_PAUSE_S)

    def _end(self, stream: str, *, is_sound: bool) -> None:
        wait = self._waits.pop(stream)
        if not is_sound:
            wait.connection.disconnect()
        self._cluster.at(wait.server).connection_pool.release(wait.connection)


def _socket(wait: _Wait) -> Any:
    """Return the socket of a read that waits. Raises Unavailable if it was closed here."""
    found = wait.connection._sock  # noqa: SLF001  # the library has no other way to wait for several
    if found is None:
        raise_explained(redis.ConnectionError("the connection was closed"))
    return found


def _last_ids(client: redis.Redis, watcher: str) -> dict[str, str]:
    """Return the streams of a watcher, each with the id of its last event."""
    streams = [f"{keys.prefix(shard)}watch:{watcher}" for shard in keys.SHARDS]
    pipeline: Any = client.pipeline(transaction=False)
    for stream in streams:
        pipeline.xrevrange(stream, count=1)
    return {stream: last[0][0] if last else "0-0" for stream, last in zip(streams, pipeline.execute(), strict=True)}


def _deletion(stream: str, upto: str) -> tuple[str, ...]:
    """Return the command that deletes what was read."""
    return ("XTRIM", stream, "MINID", _next_id(upto))


def _next_id(event_id: str) -> str:
    ms, _, sequence = event_id.partition("-")
    return f"{ms}-{int(sequence) + 1}"


def _passed_on(flat: Sequence[str]) -> StreamedEvent:
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    return StreamedEvent(
        fields["job"], fields["event"], int(fields["count"]), fields["type"], fields["body"], fields.get("result")
    )
