"""What a step leaves on the board for whoever concludes its job: typed, frozen, the same in every release."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from querymill_shared.board import Step


class Notes(BaseModel):
    """The base of what steps note. Fields that this release does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def of(cls, step: Step) -> Self:
        """Read what a step noted."""
        return cls.model_validate(step.notes)

    def for_board(self) -> dict[str, Any]:
        """Write the notes as JSON holds them."""
        return self.model_dump(mode="json")


class StepNotes(Notes):
    """What steps note of themselves: ``timing`` in ms by stage, ``usage`` as provider calls and tokens."""

    timing: dict[str, float] = Field(default_factory=dict)
    usage: dict[str, int] = Field(default_factory=dict)


class FailureNotes(Notes):
    """What is noted of a step that failed: whether it was given up because its workers kept dying."""

    dead: bool = False
