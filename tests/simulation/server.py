"""The board's server: the model of its keys in one Lua, under which the real scripts run, and its connections.

A command is a point at which anything may happen: see `faults.py`. It is run at one moment, as on a real server.
"""

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import hiredis
import lupa.luajit21
import redis
from redis._parsers import Encoder
from redis._parsers.base import BaseParser
from redis.backoff import NoBackoff
from redis.retry import Retry

from querymill_shared.board import scripts
from querymill_shared.board.away import raise_explained
from querymill_shared.board.board_client import BoardClient
from querymill_shared.board.sockets import OPTIONS
from tests.simulation.scheduler import EPOCH_S, SECOND, Actor, Process, Scheduler

_HERE: Final = Path(__file__).parent
_MODEL: Final = ("keys.lua", "ordered.lua", "programs.lua")
#: What connections of the product wait for a reply, in microseconds.
REPLY_LIMIT: Final = 10 * SECOND
NOTHING: Final = b"$-1\r\n"
#: What becomes of bytes that are no text.
_ERRORS: Final[str] = OPTIONS.get("encoding_errors", "strict")
#: Why a command did not come back.
CUT: Final = "Connection closed by server."


def new_model(kind: Any = lupa.luajit21) -> Any:
    """Return the model of the keys in a Lua of its own: that of the server's version, or a faster one."""
    lua = kind.LuaRuntime(encoding=None, unpack_returned_tuples=True)
    return lua.execute("\n".join((_HERE / name).read_text(encoding="utf-8") for name in _MODEL).encode())


@cache
def _prototype() -> BoardClient:
    client: BoardClient = BoardClient(connection_pool=redis.ConnectionPool(protocol=2))
    client._is_one_server = True
    return client


@cache
def _model() -> Any:
    return new_model()


def read_commands(sent: bytes) -> list[list[bytes]]:
    """Return the commands that a connection sent."""
    reader = hiredis.Reader()
    reader.feed(sent)
    found: list[list[bytes]] = []
    while (command := reader.gets()) is not False:
        found.append(command)
    return found


@dataclass(eq=False)
class Blocked:
    """A command that waits at the server until something is pushed: whose, and until when."""

    connection: "SimulatedConnection"
    command: Sequence[bytes]
    actor: Actor


Told = Callable[[tuple[bytes, ...]], None]


class KeyServer:
    """The board's server, on the scheduler. ``told`` is called with each event and each state of a job."""

    def __init__(self, scheduler: Scheduler, told: Told) -> None:
        self.scheduler = scheduler
        self.clock_ahead = 0
        self.is_down = False
        self._told = told
        self._model = _model()
        self._run = self._model[b"run"]
        self._model[b"empty"]()
        self.unload()
        self._blocked: list[Blocked] = []
        self._connections: list[SimulatedConnection] = []
        self._kept: list[tuple[int, Any]] = []

    @property
    def time_us(self) -> int:
        """What its clock says."""
        return EPOCH_S * SECOND + self.scheduler.now + self.clock_ahead

    def open(self, process: Process, point: "Point", *, decode: bool = True) -> redis.Redis:
        """Return a client of a process, as `open_commands` does."""
        client = copy.copy(_prototype())  # to make one takes a millisecond
        client.connection_pool = SimulatedPool(self, process, point, decode=decode)  # type: ignore[assignment]
        return client

    def load_all(self) -> None:
        """Have every script of the board known, as after some time of work."""
        for name in script_names():
            self.load(scripts.source(name), scripts.digest(name))

    def load(self, source: str, digest: str) -> None:
        """Know a script by its digest."""
        self._model[b"load"](digest.encode(), source.encode())

    def unload(self) -> None:
        """Forget the scripts, as a server does that is started."""
        self._model[b"unload"]()

    def perform(self, command: Sequence[bytes]) -> bytes:
        """Run a command now, and return the reply as it goes over the wire."""
        if command[0] == b"SCRIPT":
            digest = hashlib.sha1(command[2]).hexdigest()  # the server's choice
            self._model[b"load"](digest.encode(), command[2])
            return f"${len(digest)}\r\n{digest}\r\n".encode()
        reply, pushed, told = self._run(self.time_us, *command)
        if told is not None:
            for each in told.values():
                self._told(tuple(each.values()))
        if pushed and self._blocked:
            self._serve_blocked()
        return bytes(reply)

    def ask(self, *command: str | bytes | float) -> Any:
        """Run a command for the one who looks on, and return its reply."""
        reader = hiredis.Reader(encoding="utf-8", errors="replace")
        reader.feed(self.perform(read_commands(_packed(command))[0]))
        return reader.gets()

    def queue_of_bells(self, name: str) -> Any:
        """Return the bells of a queue as a table of Lua, the oldest last; None if there is none."""
        return self._model[b"list_of"](name.encode())

    def remember(self) -> Any:
        """Return what all keys hold."""
        return self._model[b"remember"]()

    def restart(self, kept: Any = None, *, is_emptied: bool = False) -> None:
        """Start again: with all that it held, with what it held some time ago, or empty. All connections are cut."""
        if is_emptied:
            self._model[b"empty"]()
        elif kept is not None:
            self._model[b"go_back"](kept)
        self.unload()
        for connection in list(self._connections):
            connection.cut()
        self._connections.clear()

    def block(self, blocked: Blocked) -> None:
        """Have a command wait for something to be pushed."""
        self._blocked.append(blocked)

    def unblock(self, connection: "SimulatedConnection") -> None:
        """Have the command of a connection wait no more."""
        self._blocked = [each for each in self._blocked if each.connection is not connection]

    def connected(self, connection: "SimulatedConnection") -> None:
        """Note a connection, which a restart cuts."""
        self._connections.append(connection)

    def _serve_blocked(self) -> None:
        for blocked in list(self._blocked):
            if blocked.actor.process.is_dead:
                self._blocked.remove(blocked)
                continue
            reply, _, _ = self._run(self.time_us, *blocked.command)
            if bytes(reply) != NOTHING:
                self._blocked.remove(blocked)
                blocked.connection.receive(bytes(reply))
                self.scheduler.wake(blocked.actor, after=self.scheduler.chances.randrange(50, 1_000))


#: Called with a connection and what it sends. It runs the commands at the server, or lets something happen to them.
Point = Callable[["SimulatedConnection", bytes], None]


def _packed(command: Sequence[Any]) -> bytes:
    """Return a command as it goes over the wire. The name of one may have two words."""
    packed: bytes = hiredis.pack_command((*str(command[0]).split(), *command[1:]))
    return packed


@cache
def script_names() -> tuple[str, ...]:
    """Return the names of the scripts that are run as such."""
    folder = Path(scripts.__file__).parent / "lua"
    return tuple(sorted(path.stem for path in folder.glob("*.lua") if path.stem not in scripts._PRELUDES))


class SimulatedPool:
    """The pool of a client: it lends as many connections as are asked for."""

    def __init__(self, server: KeyServer, process: Process, point: Point, *, decode: bool) -> None:
        self.server = server
        self.process = process
        self.point = point
        self.connection_kwargs: dict[str, Any] = {"protocol": 2, "decode_responses": decode, "encoding": "utf-8"}
        self.max_connections = 32
        self._free: list[SimulatedConnection] = []
        self._all: list[SimulatedConnection] = []

    def get_connection(self, *_: Any, **__: Any) -> "SimulatedConnection":
        """Lend a connection."""
        if self._free:
            lent = self._free.pop()
            if lent.has_unread:  # as the library looks
                lent.disconnect()
            return lent
        opened = SimulatedConnection(self)
        self._all.append(opened)
        return opened

    def release(self, connection: "SimulatedConnection") -> None:
        """Take one back."""
        self._free.append(connection)

    def disconnect(self, inuse_connections: bool = True) -> None:
        """Close all, those that are lent too: who waits for a reply is told at once."""
        for connection in self._all:
            connection.cut()

    def get_encoder(self) -> Any:
        """Return what pipelines encode with."""
        return Encoder("utf-8", "strict", self.connection_kwargs["decode_responses"])  # type: ignore[no-untyped-call]

    def reset(self) -> None:
        """Begin again."""
        self._free.clear()

    close = disconnect


class SimulatedConnection:
    """A connection as the client library uses it: what is sent is done at the server after some time, or not at all."""

    handshake_metadata: Final = {"mode": "standalone"}
    sound_at = float("-inf")
    host, port, db = "board", 6379, 0

    def __init__(self, pool: SimulatedPool) -> None:
        self.pool = pool
        self.process = pool.process
        self.server = pool.server
        # As that of a pool without another policy.
        self.retry = Retry(NoBackoff(), 0)
        self._decodes = bool(pool.connection_kwargs["decode_responses"])
        self._is_cut = False
        self._wakes: Actor | None = None
        self._blocks_for: int | None = None
        self._begin()

    def _begin(self) -> None:
        encoding: dict[str, Any] = {"encoding": "utf-8", "errors": _ERRORS} if self._decodes else {}
        self._reader = hiredis.Reader(replyError=BaseParser.parse_error, **encoding)
        self._is_cut = False

    def send_command(self, *args: Any, **_: Any) -> None:
        """Send a command."""
        self.send_packed_command(_packed(args))

    def pack_commands(self, commands: Sequence[Sequence[Any]]) -> list[bytes]:
        """Return commands as they go over the wire."""
        return [_packed(command) for command in commands]

    def send_packed_command(self, packed: Any, **_: Any) -> None:
        """Send commands. Raises Unavailable."""
        try:
            if self._is_cut:
                self._begin()
            self.pool.point(self, packed if isinstance(packed, bytes) else b"".join(packed))
        except redis.RedisError as error:
            self.disconnect()
            raise_explained(error)

    def read_response(self, *_: Any, disable_decoding: bool = False, **__: Any) -> Any:
        """Read a reply. Raises Unavailable, or what the reply says."""
        try:
            reply = self._read()
        except redis.RedisError as error:
            self.disconnect()
            raise_explained(error)
        except hiredis.HiredisError:
            self.disconnect()  # as the library does: what follows cannot be read either
            raise
        if isinstance(reply, redis.ResponseError):
            try:
                raise reply
            except redis.RedisError as error:
                raise_explained(error)
        return reply

    def _read(self) -> Any:
        reply = self._reader.gets()
        if reply is False:
            if self._is_cut:
                raise redis.ConnectionError(CUT)
            self._wakes, limit = self.server.scheduler.current, self._blocks_for
            self.server.scheduler.park(REPLY_LIMIT if limit is None else limit)
            self._wakes = self._blocks_for = None
            self.server.unblock(self)
            reply = self._reader.gets()
            if reply is False and self._is_cut:
                raise redis.ConnectionError(CUT)
            if reply is False and limit is not None:
                return None
            if reply is False:
                raise redis.TimeoutError("Timeout reading from socket")
        return reply

    def wait_at_server(self, command: Sequence[bytes]) -> None:
        """Have a command that found nothing wait at the server, for as long as it says."""
        if command[0] == b"BLMPOP":
            limit = float(command[1]) * SECOND
        elif b"BLOCK" in command:
            limit = float(command[list(command).index(b"BLOCK") + 1]) * SECOND / 1000
        else:
            self.receive(NOTHING)
            return
        self._blocks_for = int(limit)
        self.server.block(Blocked(self, command, self.server.scheduler.current))

    def receive(self, reply: bytes) -> None:
        """Have a reply come in."""
        self._reader.feed(reply)

    def cut(self) -> None:
        """Close it from the other side. Who waits for a reply is told."""
        self._is_cut = True
        self.server.unblock(self)
        if self._wakes is not None:
            self.server.scheduler.wake(self._wakes)

    def disconnect(self, *_: Any, **__: Any) -> None:
        """Close it. It is opened again when something is sent."""
        self.server.unblock(self)
        self._is_cut = True

    @property
    def has_unread(self) -> bool:
        """Whether a reply came in that nobody read."""
        return bool(self._reader.has_data())

    def can_read(self, timeout: float = 0) -> bool:
        """Tell whether a reply is on its way."""
        return False

    def should_reconnect(self) -> bool:
        """Tell whether the library should open it again."""
        return False

    def connect(self) -> None:
        """Open it: it is when something is sent."""

    @property
    def is_connected(self) -> bool:
        """Tell whether it is open."""
        return not self._is_cut

    def __deepcopy__(self, _: Any) -> "SimulatedConnection":
        return copy.copy(self)
