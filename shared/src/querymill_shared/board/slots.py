"""Which server of a cluster holds a key: the map of its slots, and what redirects a command to another server."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from redis.crc import key_slot
from redis.exceptions import AskError, MovedError

from querymill_shared.board import keys
from querymill_shared.values import value

K = TypeVar("K", bound=Hashable)
#: The host and the port of a server.
Address = tuple[str, int]

SLOTS: Final = 16_384
#: Commands without a key go where the board's clock is, so that what they say of time belongs to it.
HOME: Final = key_slot(keys.CLOCK.encode())
_KEYLESS: Final = frozenset(
    ("ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DBSIZE", "FLUSHALL", "FLUSHDB", "HELLO", "INFO", "PING", "SCAN",
     "SCRIPT", "TIME")
)  # fmt: skip
#: The place of the first key in commands that do not begin with it.
_FIRST_KEY: Final = {"EVAL": 3, "EVALSHA": 3, "EVAL_RO": 3, "EVALSHA_RO": 3, "MEMORY": 2, "OBJECT": 2, "XINFO": 2}
#: Commands that every server with slots must run, because each has scripts and settings of its own.
_EVERYWHERE: Final = frozenset(("SCRIPT", "FLUSHALL", "FLUSHDB"))


class NoServer(Exception):
    """Raised when no server of a cluster holds a slot."""


@value
class SlotMap:
    """The server of each slot, None where no server holds it, and the replicas, which know the others too."""

    servers: Sequence[Address | None]
    replicas: Sequence[Address] = ()

    def server_of(self, slot: int) -> Address:
        """Return the server of a slot. Raises NoServer."""
        found = self.servers[slot]
        if found is None:
            raise NoServer(f"no server holds slot {slot}")
        return found

    @property
    def primaries(self) -> list[Address]:
        """The servers that hold slots."""
        return list(dict.fromkeys(server for server in self.servers if server is not None))

    def moved(self, slot: int, server: Address) -> "SlotMap":
        """Return the map after a slot has moved."""
        return replace(self, servers=(*self.servers[:slot], server, *self.servers[slot + 1 :]))


def read_map(reply: Sequence[Any], asked: Address) -> SlotMap:
    """Read the reply to CLUSTER SLOTS. A server that does not know its own host is the one that was asked."""
    servers: list[Address | None] = [None] * SLOTS
    replicas: dict[Address, None] = {}
    for first, last, primary, *others in reply:
        server = _address(primary, asked)
        servers[int(first) : int(last) + 1] = [server] * (int(last) + 1 - int(first))
        replicas |= dict.fromkeys(_address(other, asked) for other in others)
    return SlotMap(tuple(servers), tuple(replicas))


def _address(listed: Sequence[Any], asked: Address) -> Address:
    host, port = listed[0], int(listed[1])
    return (host.decode() if isinstance(host, bytes) else host) or asked[0], port


def redirected_to(error: MovedError | AskError, asked: Address) -> Address:
    """Return where a server sends a command. A server that does not know the host means its own."""
    return error.host or asked[0], error.port


def name_of(command: Sequence[Any]) -> str:
    """Return the name of a command, without its subcommand."""
    return _text(command[0]).partition(" ")[0].upper()


def _text(word: object) -> str:
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


def slot_of(command: Sequence[Any]) -> int:
    """Return the slot of a command's first key, `HOME` for a command without one."""
    name = name_of(command)
    if name in _KEYLESS:
        return HOME
    place = _FIRST_KEY.get(name, 1)
    if name in ("OBJECT", "MEMORY", "XINFO") and " " in _text(command[0]):
        place = 1  # the client library writes both words as one
    elif name.startswith("EVAL") and int(command[2]) == 0:
        return HOME
    elif name == "XREAD":
        place = 1 + next(at for at, word in enumerate(command) if _text(word).upper() == "STREAMS")
    elif name == "BLMPOP":
        place = 3
    key = command[place]
    return key_slot(key if isinstance(key, bytes) else str(key).encode())


def runs_everywhere(command: Sequence[Any]) -> bool:
    """Whether all servers with slots must run a command."""
    return name_of(command) in _EVERYWHERE


def grouped(commands: Sequence[Sequence[Any]], group: Callable[[Sequence[Any]], K]) -> Mapping[K, list[int]]:
    """Return the places of the commands of each group, in their order."""
    places: dict[K, list[int]] = {}
    for place, command in enumerate(commands):
        places.setdefault(group(command), []).append(place)
    return places


def is_cluster(handshake: object) -> bool:
    """Whether a server belongs to a cluster, by what it said of itself when a connection was opened: see HELLO."""
    said: Any = handshake
    if isinstance(said, (list, tuple)):  # version 2 of the protocol
        said = dict(zip(said[::2], said[1::2], strict=False))
    if not isinstance(said, Mapping):
        return False
    return said.get("mode", said.get(b"mode")) in ("cluster", b"cluster")
