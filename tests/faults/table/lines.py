"""The lines of the fault table: each is a fault, how it is brought about, and on which servers it can be."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from tests.faults.histories.counting import Counts
from tests.faults.table.stage import Servers, Stage

ALL: Final[tuple[Servers, ...]] = ("valkey", "rabbitmq", "cluster")
#: Where the board is one server.
SINGLE: Final[tuple[Servers, ...]] = ("valkey", "rabbitmq")
CLUSTERED: Final[tuple[Servers, ...]] = ("cluster",)
#: A control needs no other: what is switched off is the same on all.
ALONE: Final[tuple[Servers, ...]] = ("valkey",)
APP: Final = "querymill_workers.app"


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes:
        name: how the command and the page call it
        says: what is done, for the reader of the page
        inflict: brings the fault about, and returns when it is over
        on: the servers on which it can be
        app: what the workers run
        loses_board: whether the board loses data by the fault itself
        is_control: whether a guard is switched off, so that losses must show
        whole_fleet: whether no other worker or gateway may run beside those of the stage
        spares: promises that the fault itself breaks, which are not checked
        own: settings of the workers that are not those that are shipped
    """

    name: str
    says: str
    inflict: Callable[[Stage], None]
    on: Collection[Servers] = ALL
    app: str = APP
    loses_board: bool = False
    is_control: bool = False
    spares: Collection[str] = ()
    whole_fleet: bool = False
    own: dict[str, str] = field(default_factory=dict)


def breaks_promise(line: Line, counts: Counts) -> bool:
    """Whether what was counted breaks a promise. A board that loses its data loses jobs."""
    return bool(counts.broken + (0 if line.loses_board else counts.gone))


#: All lines, by their names. The page and the command know no other.
LINES: Final[dict[str, Line]] = {}


def line(
    name: str, says: str, *, on: Collection[Servers] = ALL, app: str = APP, loses_board: bool = False,
    is_control: bool = False, spares: Collection[str] = (), whole_fleet: bool = False, **own: str,
) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:  # fmt: skip
    """Register a fault as a line."""

    def register(inflict: Callable[[Stage], None]) -> Callable[[Stage], None]:
        LINES[name] = Line(name, says, inflict, on, app, loses_board, is_control, spares, whole_fleet, own)
        return inflict

    return register
