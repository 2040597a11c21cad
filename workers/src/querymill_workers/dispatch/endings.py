"""How each branch of a job ended, as a step that nobody runs holds it on the board."""

from collections.abc import Collection, Iterator
from typing import Annotated, Final, Self, cast

from pydantic import Field
from pydantic_core import from_json

from querymill_shared.board import Outcome, Picture, Verdict
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.kinds import KindHit, KindResult
from querymill_shared.contracts.search import AnySearchResult
from querymill_shared.values import value
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.notes import FailureNotes, Notes


class BranchNotes(Notes):
    """The result of a branch, or None if it has none.

    A branch is a search of one kind. What finds the candidates of a judge may be a search over everything.
    """

    result: Annotated[AnySearchResult, Field(discriminator="kind")] | None = None


@value
class BranchEnding:
    """How a branch ended: with a result, or without one, and why. ``ended`` is when, if that is known."""

    result: KindResult | None
    reason: str = ""
    code: Code | None = None
    ended: float | None = None

    @classmethod
    def of_verdict(cls, verdict: Verdict) -> Self:
        """Return how the branch of a verdict ended."""
        result = BranchNotes.model_validate(_notes(verdict)).result
        return cls(cast("KindResult | None", result), "" if result else verdict.reason or CUT, verdict.code)

    @property
    def hits(self) -> tuple[KindHit, ...]:
        """What the branch found, best first."""
        return () if self.result is None else self.result.results


#: How a branch ends that had not begun when the deadline of its job came.
NOT_BEGUN: Final = BranchEnding(None, CUT, "deadline")


def ending_of(verdict: Verdict) -> Outcome:
    """Return the verdict of a branch as the outcome of a step."""
    if verdict.result:
        return Outcome(notes=_notes(verdict))
    notes = FailureNotes(dead=verdict.state == "dead", counts_as=verdict.counts_as).for_board()
    return Outcome("failed", verdict.reason, notes=notes, code=verdict.code)


def endings_in(picture: Picture, branches: Collection[str]) -> Iterator[tuple[str, BranchEnding]]:
    """Yield the branches that have ended, and how."""
    for step in picture.steps:
        if step.name in branches:
            result = cast("KindResult | None", BranchNotes.of(step).result)
            yield step.name, BranchEnding(result, step.reason, step.code, step.ended)


def _notes(verdict: Verdict) -> dict[str, object]:
    return {"result": from_json(verdict.result)} if verdict.result else {}
