"""Notes: what a step leaves on the board for later steps and for the result. Typed, frozen, stable on the wire."""

from functools import cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from querymill_shared.board import Step
from querymill_shared.contracts.fields import from_board


@cache
def _reader(notes: type[BaseModel]) -> TypeAdapter[Any]:
    """Return what reads notes of a type. To make one costs more than to read with it."""
    return TypeAdapter(notes)


class Notes(BaseModel):
    """The base of all notes. Unknown fields, which a newer release may write, are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def of(cls, step: Step) -> Self:
        """Read the notes of a step."""
        read: Self = from_board(_reader(cls), step.notes)
        return read

    def for_board(self) -> dict[str, Any]:
        """Return the notes as plain JSON values."""
        return self.model_dump(mode="json")


class StepNotes(Notes):
    """What a step notes about its work: ``timing`` in ms by phase, ``usage`` as provider calls and tokens."""

    timing: dict[str, float] = Field(default_factory=dict)
    usage: dict[str, int] = Field(default_factory=dict)


class FailureNotes(Notes):
    """The notes of a failed step. ``dead``: it was given up because its workers kept dying.

    ``counts_as`` is what the end of the job is counted as; "" is a failure.
    """

    dead: bool = False
    counts_as: str = ""
