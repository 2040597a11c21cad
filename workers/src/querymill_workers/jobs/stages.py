"""What the results of all kinds report about their steps, and when a running job reports its ranking."""

from collections.abc import Iterable, Sequence

from querymill_shared.board import AttemptPart, Picture, Step
from querymill_shared.contracts.answer import COMPLETION_TOKENS
from querymill_shared.contracts.results import Degradation, Stage
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.usage import ProviderUsage

#: The ranking so far is reported at most this often, in seconds.
TELL_EVERY_S = 0.1


def worth_telling(picture: Picture) -> bool:
    """Return whether the ranking is due to be reported. Steps that end together report it once."""
    told, ended = picture.record.told, max(step.ended or 0 for step in picture.steps)
    return told is None or ended - told >= TELL_EVERY_S


def missing(steps: Iterable[Step]) -> tuple[Degradation, ...]:
    """Name each step whose part the answer does not have, with the reason."""
    return tuple(
        Degradation(stage=step.name, reason=step.reason or CUT, code=step.code if step.reason else "deadline")
        for step in steps
        if step.state != "done"
    )


def stage(step: Step) -> Stage:
    """Describe how a step went."""
    closed = step.started is not None and step.ended is not None
    return Stage(
        name=step.name,
        state=step.state,
        attempt=step.attempt,
        ms=round((step.ended - step.started) * 1000, 1) if closed else None,  # type: ignore[operator]
        timing=StepNotes.of(step).timing,
        reason=step.reason or None,
        code=step.code,
    )


def timing(picture: Picture, steps: Sequence[Step] | None = None) -> dict[str, float]:
    """Return when the first step started and when steps ended, in ms since submission by the board's clock.

    They are all steps of the job, or those that are given. Moments that did not happen are left out.
    """
    steps = picture.steps if steps is None else steps
    started = [step.started for step in steps if step.started is not None]
    ended = [step.ended for step in steps if step.ended is not None]
    moments = {
        "queued_ms": min(started, default=None),
        "first_branch_ms": min(ended, default=None),
        "last_branch_ms": max(ended, default=None),
    }
    created = picture.record.created
    return {name: round((at - created) * 1000, 1) for name, at in moments.items() if at is not None}


def used(picture: Picture, steps: Sequence[Step] | None = None) -> dict[str, int]:
    """Add up the provider calls and the tokens of all steps, and the tokens of answers where they are known.

    They are all steps of the job, or those that are given.
    """
    usages = [StepNotes.of(step).usage for step in (picture.steps if steps is None else steps)]
    known = (COMPLETION_TOKENS,) if any(COMPLETION_TOKENS in usage for usage in usages) else ()
    return {name: sum(usage.get(name, 0) for usage in usages) for name in (*ProviderUsage().noted(), *known)}


class Laps:
    """Times the phases of one step, in milliseconds."""

    def __init__(self, ports: Common) -> None:
        self._clock = ports.clock
        self._started = self._last = ports.clock()
        self._tally = job_counts.current()
        self.ms: dict[str, float] = {}

    def lap(self, phase: str) -> None:
        """Record how long the phase that ends now has taken."""
        now = self._clock()
        self.ms[phase] = round((now - self._last) * 1000, 2)
        self._last = now
        self._tally.close_part(phase, self.ms[phase])

    @property
    def parts(self) -> tuple[AttemptPart, ...]:
        """The phases as the board keeps them, with what their calls cost."""
        return tuple(self._tally.parts)

    @property
    def total_ms(self) -> float:
        """Milliseconds since the step began."""
        return round((self._clock() - self._started) * 1000, 2)
