"""What clients asked and saw: one operation a line of JSON, which the checkers of `promises` read.

A history can be written by hand, too. These are the kinds of operations; times are seconds of one clock for all.

| kind | argument | seen |
|---|---|---|
| submit | job (its kind), key, body, durable, deadline (null: none), collection | job_id, or refused |
| end | job_id | state, reason, code, degraded (codes), lost (steps), of which a client had to hear |
| events | job_id, after | ids, types |
| last | job_id | state, attempts (of each step), ids, types: what the board holds when all is over |
| write | document, value (null: dropped), job_id | state |
| read | document | value (null: not there) |
| find | document, value that was looked for | values: how often each was shown; complete |
| answer | question, expected | given, complete |
| cancel | job_id | accepted |
| fault | name | |
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

#: The end of an operation that nobody saw end.
NEVER: Final = math.inf
#: What ends a stream of events.
ENDS: Final = frozenset({"done", "failed", "cancelled"})
#: How a job may stand when it is over.
OVER: Final = ENDS | {"dead"}


@dataclass(frozen=True, slots=True)
class Operation:
    """What one client asked, and what it saw: see the table above.

    Attributes:
        client: who asked; its operations do not overlap
        begin: when it asked, in seconds
        end: when it saw the reply, in seconds; infinite: never
    """

    client: str
    kind: str
    begin: float
    end: float
    argument: Mapping[str, Any] = field(default_factory=dict)
    seen: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Return the operation as a line of JSON; an end that nobody saw is null."""
        written = asdict(self)
        return json.dumps(written | {"end": None if self.end == NEVER else self.end})


def read_history(lines: Iterable[str]) -> Iterator[Operation]:
    """Yield the operations of lines of JSON."""
    for line in lines:
        read = json.loads(line)
        yield Operation(**(read | {"end": NEVER if read["end"] is None else read["end"]}))


def of_kind(history: Iterable[Operation], kind: str) -> list[Operation]:
    """Return the operations of a kind."""
    return [operation for operation in history if operation.kind == kind]
