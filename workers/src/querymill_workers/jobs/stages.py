"""What the results of all kinds tell of their branches, and when a job in progress is worth telling of."""

from collections.abc import Iterable

from querymill_shared.board import Picture, Step
from querymill_shared.contracts.results import Degradation, Stage
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.ports import Common

#: The ranking so far is told at most this often, in seconds.
TELL_EVERY_S = 0.1


def worth_telling(picture: Picture) -> bool:
    """Whether the ranking was not told just now; branches that end together tell it once."""
    told, ended = picture.record.told, max(step.ended or 0 for step in picture.steps)
    return told is None or ended - told >= TELL_EVERY_S


def why_nothing(picture: Picture) -> str:
    """Name, branch by branch, why no search came through."""
    return "no search came through: " + "; ".join(
        f"{branch.name}: {branch.reason or 'cut by the deadline'}" for branch in picture.steps
    )


def missing(steps: Iterable[Step]) -> tuple[Degradation, ...]:
    """Name each step whose part the answer does not have, with the reason."""
    return tuple(Degradation(stage=step.name, reason=step.reason or CUT) for step in steps if step.state != "done")


def stage(branch: Step) -> Stage:
    """Show how a branch went."""
    closed = branch.started is not None and branch.ended is not None
    return Stage(
        name=branch.name,
        state=branch.state,
        attempt=branch.attempt,
        ms=round((branch.ended - branch.started) * 1000, 1) if closed else None,  # type: ignore[operator]
        timing=dict(branch.notes.get("timing", {})),
        reason=branch.reason or None,
    )


def timing(picture: Picture) -> dict[str, float]:
    """Sum up where the time went, in milliseconds of the board's clock; what did not happen has none."""
    started = [branch.started for branch in picture.steps if branch.started is not None]
    ended = [branch.ended for branch in picture.steps if branch.ended is not None]
    moments = {
        "queued_ms": min(started, default=None),
        "first_branch_ms": min(ended, default=None),
        "last_branch_ms": max(ended, default=None),
    }
    created = picture.record.created
    return {name: round((at - created) * 1000, 1) for name, at in moments.items() if at is not None}


def used(picture: Picture) -> dict[str, int]:
    """Add up what the branches asked of the providers."""
    notes = [branch.notes.get("usage", {}) for branch in picture.steps]
    return {name: sum(note.get(name, 0) for note in notes) for name in ("provider_calls", "tokens")}


class Laps:
    """Times the stages of one step, in milliseconds."""

    def __init__(self, ports: Common) -> None:
        self._clock = ports.clock
        self._started = self._last = ports.clock()
        self.ms: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """Note how long the stage that ends here took."""
        now = self._clock()
        self.ms[stage] = round((now - self._last) * 1000, 2)
        self._last = now

    @property
    def total_ms(self) -> float:
        """Time since the step began."""
        return round((self._clock() - self._started) * 1000, 2)
