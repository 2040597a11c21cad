"""The words of the stack: its parts, the programs a caller adds, and where each part is reached."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

LOOPBACK = "127.0.0.1"
DATABASE = "querymill"
EMBEDDING_MODEL = "multilingual-e5-small"
CHAT_MODEL = "smollm2-135m-instruct"

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class Part(StrEnum):
    """The servers which the stack brings itself."""

    VALKEY = "valkey"
    POSTGRES = "postgres"
    MONGO = "mongo"
    EMBEDDINGS = "embeddings"
    CHAT = "chat"


ALL: frozenset[Part] = frozenset(Part)
#: Names in log files and in the supervisor which a caller's program cannot take.
RESERVED = frozenset({*Part, "leash", "supervisord"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A process to keep running.

    Attributes:
        name: lower-case word; the log is `logs/<name>.log`.
        command: the executable (absolute, or found on PATH) and its arguments.
        environment: variables on top of the caller's and the stack's own; these win.
        stop_signal: name of the signal that asks for a clean end, without "SIG".
        stop_wait_s: seconds after that signal until the whole process group is killed.
        port: which it serves on loopback, if any; shown as its address.
        settle_s: seconds which it must stay up to count as started; one that ends sooner has failed to start.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: str = "TERM"
    stop_wait_s: float = 10.0
    settle_s: float = 1.0
    port: int | None = None

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise ValueError(f"program name {self.name!r}: lower-case ASCII letters, digits, '-' and '_' only")
        if not self.command:
            raise ValueError(f"program {self.name}: the command is empty")


def check_programs(programs: Sequence[Program]) -> None:
    """Refuse program names that are taken.

    Raises:
        ValueError: two programs share a name, or one has the name of a part.
    """
    taken = set(RESERVED)
    for program in programs:
        if program.name in taken:
            raise ValueError(f"program name {program.name!r} is taken; choose another")
        taken.add(program.name)


def in_order(parts: Collection[Part]) -> list[Part]:
    """The parts once each, in the order of their declaration."""
    return [part for part in Part if part in parts]


def address(port: int) -> str:
    """Where a server listens, as host:port."""
    return f"{LOOPBACK}:{port}"


def endpoints(ports: Mapping[Part, int]) -> dict[str, str]:
    """The settings that lead to the started parts, under the names of the settings class."""
    environment: dict[str, str] = {}
    for part, port in ports.items():
        environment |= _endpoint(part, address(port))
    return environment


def _endpoint(part: Part, at: str) -> dict[str, str]:
    match part:
        case Part.VALKEY:
            return {"REDIS_URL": f"redis://{at}/0"}
        case Part.POSTGRES:
            return {"DATABASE_URL": f"postgresql://{DATABASE}@{at}/{DATABASE}"}
        case Part.MONGO:
            # It calls itself a replica set of one; a direct connection spares the driver the discovery.
            return {"MONGODB_URI": f"mongodb://{at}/{DATABASE}?directConnection=true"}
        case Part.EMBEDDINGS:
            return {
                "EMBEDDING_BASE_URL": f"http://{at}/v1",
                "EMBEDDING_API_KEY": "embedded",
                "EMBEDDING_MODEL": EMBEDDING_MODEL,
            }
        case Part.CHAT:
            return {
                "OPENAI_BASE_URL": f"http://{at}/v1",
                "OPENAI_API_KEY": "embedded",
                "CHAT_MODEL": CHAT_MODEL,
                # Of the server's context an answer has 2048 tokens; Chinese takes twice what is estimated.
                "QUERYMILL_RERANK_TOKENS": "500",
                "QUERYMILL_ANSWER_TOKENS": "500",
            }
        case _:
            assert_never(part)
