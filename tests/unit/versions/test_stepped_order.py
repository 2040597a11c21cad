"""The newest accepted write stands, whatever the clock does, whichever runs last, and whatever the board loses."""

from dataclasses import dataclass, field
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.documents import DropDocuments
from querymill_workers.versions.memory import MemoryVersions
from querymill_workers.versions.ports import WrittenDocument, version_of
from tests.fixtures.boards import new_board, step_clock

Deed = Literal["put", "drop", "forget everything"]
WRITE = DropDocuments(collection="c", retriever="messages", everything=True)
STEPS = st.sampled_from([-100_000.0, -3_600.0, -5.0, -0.001, 0.0, 0.5, 3_600.0])
MOVES = st.one_of(
    st.tuples(st.just("accept"), st.sampled_from(["put", "drop", "forget everything"])),
    st.tuples(st.just("run"), st.integers(0, 20)),
    st.tuples(st.just("step"), STEPS),
    st.tuples(st.just("lose"), STEPS),
)


@dataclass
class Fleet:
    """A board beside versions, a clock, and what was accepted and not run yet, each with its place in the order."""

    versions: MemoryVersions = field(default_factory=MemoryVersions)
    waiting: list[tuple[int, str, Deed]] = field(default_factory=list)
    accepted: int = 0
    #: The place of the newest write that has run, and the document as the runs left it.
    newest: int = 0
    expected: int | None = None
    stored: int | None = None

    def __post_init__(self) -> None:
        self.open_board()

    def open_board(self) -> None:
        self.board = new_board(largest_stored=self.versions.largest_version)
        self.waiting.clear()

    def accept(self, deed: Deed) -> None:
        self.accepted += 1
        self.waiting.append((self.accepted, self.board.submit(WRITE)[0], deed))

    def run(self, choice: int) -> None:
        """Run any of the writes that wait."""
        if not self.waiting:
            return
        place, job_id, deed = self.waiting.pop(choice % len(self.waiting))
        claim = self.board.claim(job_id, "drop")
        assert claim is not None
        version = version_of(claim)
        if place > self.newest:
            self.newest, self.expected = place, place if deed == "put" else None
        match deed:
            case "put":
                with self.versions.changing("c", "messages", [WrittenDocument("d")], version) as standings:
                    self.stored = place if standings["d"].newest else self.stored
            case "drop":
                with self.versions.dropping("c", "messages", "d", version) as standing:
                    self.stored = None if standing.reaches_known else self.stored
            case "forget everything":
                self.versions.leave_filter_tombstone("c", "messages", version)
                with self.versions.changing("c", "messages", [WrittenDocument("d")], version, whole=False) as standings:
                    self.stored = None if standings["d"].reaches_known else self.stored


@given(st.lists(MOVES, max_size=40))
def test_the_newest_accepted_write_stands(moves: list[tuple[str, Deed | int | float]]) -> None:
    fleet = Fleet()
    for move in moves:
        match move:
            case ("accept", "put" | "drop" | "forget everything" as deed):
                fleet.accept(deed)
            case ("run", int(choice)):
                fleet.run(choice)
            case ("step", float(seconds)):
                step_clock(fleet.board, seconds)
            case ("lose", float(seconds)):
                fleet.open_board()
                step_clock(fleet.board, seconds)
            case _:
                raise AssertionError(move)
        assert fleet.stored == fleet.expected, moves
