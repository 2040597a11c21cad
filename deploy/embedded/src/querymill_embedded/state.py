"""The files of a running stack: `stack.json` and `programs.json`. Only their owner can read them.

`ports.json` stays when the stack is stopped.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from querymill_embedded.parts import Program, StackPart
from querymill_embedded.processes import ProcessIdentity

STATE_FILE = "stack.json"
PROGRAMS_FILE = "programs.json"
PORTS_FILE = "ports.json"


@dataclass(frozen=True, slots=True)
class Control:
    """Access to the supervisor: a loopback port and random credentials."""

    port: int
    user: str
    password: str


@dataclass(frozen=True, slots=True)
class StackState:
    """A stack that was started and not stopped since.

    Attributes:
        supervisor: the supervisor's process, which leads the session of all others.
        ports: the ports of the started parts.
        programs: the caller's programs in order, each with the port that it serves, if any.
        stop_within_s: seconds that a clean stop may take.
        pids: the pids of parts and programs when the stack became ready; a restart changes a pid.
    """

    supervisor: ProcessIdentity
    control: Control
    ports: Mapping[StackPart, int]
    programs: Mapping[str, int | None]
    stop_within_s: float
    pids: Mapping[str, int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts, then of the programs."""
        return (*(part.value for part in self.ports), *self.programs)

    def write(self, data: Path) -> None:
        """Write the state to the data folder, atomically."""
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
        """Return the state in a data folder, or None if no stack was started there."""
        try:
            record: dict[str, Any] = json.loads((data / STATE_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return cls(
            supervisor=ProcessIdentity(**record["supervisor"]),
            control=Control(**record["control"]),
            ports={StackPart(name): port for name, port in record["ports"].items()},
            programs=record["programs"],
            stop_within_s=record["stop_within_s"],
            pids=record["pids"],
        )


def write_programs(data: Path, programs: Sequence[Program], environment: Mapping[str, str]) -> None:
    """Write the commands and environments of the caller's programs for `program.py` to read.

    The supervisor's configuration cannot hold them: its syntax cannot express every value (both quotes, " ;").
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
    """Replace a file atomically. Only its owner can ever read it."""
    new = path.with_suffix(path.suffix + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def write_ports(data: Path, ports: Mapping[StackPart, int]) -> None:
    """Note the ports of the parts that are started. Parts that were started before keep theirs."""
    write_private(data / PORTS_FILE, json.dumps({**read_ports(data), **ports}))


def read_ports(data: Path) -> dict[str, int]:
    """Return the port that each part had when it was started last, {} if that is not known."""
    try:
        kept = json.loads((data / PORTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: port for name, port in kept.items() if isinstance(port, int)} if isinstance(kept, dict) else {}
