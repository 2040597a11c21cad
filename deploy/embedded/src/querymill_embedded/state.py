"""What a started stack writes down: `stack.json` and `programs.json`, both readable by their owner only."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from querymill_embedded.parts import Part, Program
from querymill_embedded.processes import ProcessIdentity

STATE_FILE = "stack.json"
PROGRAMS_FILE = "programs.json"


@dataclass(frozen=True, slots=True)
class Control:
    """How to speak to the supervisor: a loopback port and random credentials."""

    port: int
    user: str
    password: str


@dataclass(frozen=True, slots=True)
class StackState:
    """A stack that was started and not taken down.

    Attributes:
        supervisor: the supervising process; it leads the session of all the others.
        ports: of the started parts.
        programs: the caller's programs in their order, each with the port it serves, if any.
        stop_within_s: seconds in which a clean stop must have come to its end.
        pids: of parts and programs when the stack was ready; a restart after a crash changes one.
    """

    supervisor: ProcessIdentity
    control: Control
    ports: Mapping[Part, int]
    programs: Mapping[str, int | None]
    stop_within_s: float
    pids: Mapping[str, int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Parts, then programs."""
        return (*(part.value for part in self.ports), *self.programs)

    def write(self, data: Path) -> None:
        """Put the state into the data folder, whole or not at all."""
        record = {
            "supervisor": {"pid": self.supervisor.pid, "created": self.supervisor.created},
            "control": {
                "port": self.control.port,
                "user": self.control.user,
                "password": self.control.password,
            },
            "ports": dict(self.ports),
            "programs": dict(self.programs),
            "stop_within_s": self.stop_within_s,
            "pids": dict(self.pids or {}),
        }
        write_private(data / STATE_FILE, json.dumps(record, indent=2))

    @classmethod
    def read(cls, data: Path) -> Self | None:
        """The state in a data folder; None when no stack was left up there."""
        try:
            record: dict[str, Any] = json.loads((data / STATE_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return cls(
            supervisor=ProcessIdentity(**record["supervisor"]),
            control=Control(**record["control"]),
            ports={Part(name): port for name, port in record["ports"].items()},
            programs=record["programs"],
            stop_within_s=record["stop_within_s"],
            pids=record["pids"],
        )


def write_programs(data: Path, programs: Sequence[Program], environment: Mapping[str, str]) -> None:
    """Write commands and environments of the caller's programs for `program.py`, which becomes them.

    Why not in the supervisor's configuration: its syntax cannot hold every value (both kinds of quotes, " ;").
    """
    record = {
        program.name: {
            "command": list(program.command),
            "environment": {**environment, **program.environment},
        }
        for program in programs
    }
    write_private(data / PROGRAMS_FILE, json.dumps(record, indent=2))


def write_private(path: Path, text: str) -> None:
    """Replace a file as a whole; only its owner can read it, from its first byte on."""
    new = path.with_suffix(path.suffix + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
