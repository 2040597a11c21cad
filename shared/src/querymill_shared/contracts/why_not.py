"""Why is something not among the hits? What a search asks, and what its result says: a row of gates."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from querymill_shared.contracts.fields import Contract, FilePath, Growing, Request

GateOutcome = Literal["passed", "failed", "unreached"]


class AsksWhyNot(Request):
    """Base class of searches that explain why one thing is not among their hits.

    ``why_not`` is the id of a document, or of what a hit of the kind stands for.
    """

    why_not: FilePath | None = None


class Gate(Contract):
    """A condition that a hit has to meet.

    Attributes:
        name: what the condition is called, such as "band" or "limit"
        outcome: whether the thing meets the condition; "unreached": it failed at an earlier one
        said: numbers that the outcome follows from, in words; empty: there is nothing to say
    """

    name: str
    outcome: Annotated[GateOutcome, Growing]
    said: str = ""


class Lever(Contract):
    """The fields of the request that would bring the thing in, and the place that it would have.

    The search was run with these fields, or its ranking was read further down: nothing is guessed.

    Attributes:
        fields: fields of the request to change, with their values
        place: place among the hits that the thing would have, from 1; null: it is certain only that the thing gets
            through the gate
    """

    fields: dict[str, Any]
    place: int | None = None


class Absence(Contract):
    """Why something is not among the hits.

    Attributes:
        id: id of the thing, as `why_not` of the request gives it
        gates: conditions that a hit has to meet, in the order in which they are tried
        place: place of the thing among the hits, from 1, if it is one; then every gate is passed; null: it is none
        lever: what would make the thing a hit; null: unknown, or it is one
    """

    id: str
    gates: tuple[Gate, ...]
    place: int | None = None
    lever: Lever | None = None

    @property
    def failed(self) -> Gate | None:
        """The first gate that it did not pass, None if it is a hit."""
        return next((gate for gate in self.gates if gate.outcome == "failed"), None)

    @classmethod
    def at(
        cls,
        wanted: str,
        gates: Sequence[str],
        failed: str,
        said: str,
        *,
        passed: Mapping[str, str] | None = None,
        lever: Lever | None = None,
    ) -> Self:
        """Return the absence of what failed at one of the gates. ``passed`` has what is said of earlier ones."""
        at, notes = gates.index(failed), passed or {}
        return cls(
            id=wanted,
            gates=tuple(
                Gate(
                    name=name,
                    outcome="passed" if place < at else "failed" if place == at else "unreached",
                    said=said if place == at else notes.get(name, "") if place < at else "",
                )
                for place, name in enumerate(gates)
            ),
            lever=lever,
        )

    @classmethod
    def as_hit(cls, wanted: str, gates: Sequence[str], place: int, *, passed: Mapping[str, str] | None = None) -> Self:
        """Return what is said of something that is a hit."""
        notes = passed or {}
        return cls(
            id=wanted,
            gates=tuple(Gate(name=name, outcome="passed", said=notes.get(name, "")) for name in gates),
            place=place,
        )
