"""The parts of the stack, the programs that a caller adds, and the settings that lead to each part."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

LOOPBACK = "127.0.0.1"
DATABASE = "querymill"
EMBEDDING_MODEL = "multilingual-e5-small"
CHAT_MODEL = "smollm2-135m-instruct"

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class StackPart(StrEnum):
    """The servers of the stack."""

    VALKEY = "valkey"
    POSTGRES = "postgres"
    EMBEDDINGS = "embeddings"
    CHAT = "chat"


ALL: frozenset[StackPart] = frozenset(StackPart)
#: Names of log files and supervised processes, which a caller's program must not have.
RESERVED = frozenset({*StackPart, "leash", "supervisord"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A process that the stack keeps running.

    Attributes:
        name: a lower-case word; the log is `logs/<name>.log`.
        command: the executable (absolute, or found on PATH) and its arguments.
        environment: variables that override those of the caller and of the stack.
        stop_signal: name of the signal for a clean stop, without "SIG".
        stop_wait_s: seconds after that signal until the whole process group is killed.
        settle_s: seconds that the process must run to count as started; if it ends sooner, the start has failed.
        port: the loopback port that the process serves, if any; shown as its address.
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
            raise ValueError(
                f"program name {self.name!r}: lower-case ASCII letters, digits, '-' and '_', starting with a letter"
            )
        if not self.command:
            raise ValueError(f"program {self.name}: the command is empty")


def check_programs(programs: Sequence[Program]) -> None:
    """Check that no program name is taken.

    Raises:
        ValueError: two programs share a name, or one has a reserved name.
    """
    taken = set(RESERVED)
    for program in programs:
        if program.name in taken:
            raise ValueError(f"program name {program.name!r} is taken; choose another")
        taken.add(program.name)


def in_order(parts: Collection[StackPart]) -> list[StackPart]:
    """Return each part once, in the order of declaration."""
    return [part for part in StackPart if part in parts]


def address(port: int) -> str:
    """Return the address of a server, as host:port."""
    return f"{LOOPBACK}:{port}"


def endpoints(ports: Mapping[StackPart, int], passwords: Mapping[StackPart, str]) -> dict[str, str]:
    """Return the settings that lead to the started parts, with their passwords, as environment variables."""
    environment: dict[str, str] = {}
    for part, port in ports.items():
        environment |= _endpoint(part, address(port), passwords.get(part))
    return environment


def settings_of(parts: Iterable[StackPart]) -> frozenset[str]:
    """Return the names of the settings that lead to some parts."""
    return frozenset(endpoints(dict.fromkeys(parts, 0), {}))


def is_embedded(part: StackPart, settings: Mapping[str, str]) -> bool:
    """Return whether settings are those that lead to a model server of a stack, of this one or of another."""
    own = _endpoint(part, "", None)
    names = [name for name in own if name.endswith(("_API_KEY", "_MODEL"))]
    return bool(names) and all(settings.get(name) == own[name] for name in names)


def _endpoint(part: StackPart, at: str, password: str | None) -> dict[str, str]:
    match part:
        case StackPart.VALKEY:
            return {"REDIS_URL": f"redis://{_login('', password)}{at}/0"}
        case StackPart.POSTGRES:
            return {"DATABASE_URL": f"postgresql://{_login(DATABASE, password)}{at}/{DATABASE}"}
        case StackPart.EMBEDDINGS:
            return {
                "EMBEDDING_BASE_URL": f"http://{at}/v1",
                "EMBEDDING_API_KEY": "embedded",
                "EMBEDDING_MODEL": EMBEDDING_MODEL,
            }
        case StackPart.CHAT:
            return {
                "OPENAI_BASE_URL": f"http://{at}/v1",
                "OPENAI_API_KEY": "embedded",
                "CHAT_MODEL": CHAT_MODEL,
                # A prompt with its reply has 2048 tokens of the server's context. Chinese takes twice the estimate.
                "QUERYMILL_RERANK_TOKENS": "500",
                "QUERYMILL_ANSWER_TOKENS": "500",
                "QUERYMILL_ANSWERS": "quoted",  # how often it is right is not known: tests/quality/answers.md
            }
        case _:
            assert_never(part)


def _login(user: str, password: str | None) -> str:
    login = user if password is None else f"{user}:{password}"
    return f"{login}@" if login else ""
