"""The passages of conversations that vectors are of."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.embedded_passages import EmbeddedPassage
from querymill_workers.vectors.ports import Vector


@value
class CutSession:
    """A session cut into passages."""

    session_id: str
    passages: Sequence[EmbeddedPassage]


@value
class PassageFilter:
    """Which passages are compared: those of some sessions, or of all with None, that have a message in a time."""

    sessions: Sequence[str] | None = None
    start: datetime | None = None
    end: datetime | None = None


@value
class NearSession:
    """A session with its nearest passage, and the cosine of that."""

    session_id: str
    cosine: float
    passage: EmbeddedPassage


@value
class NearSessions:
    """The sessions nearest to a vector, and what was not compared, at the same moment.

    ``pending`` counts the passages that pass the filter and wait for a vector. ``exact`` tells whether every vector was
    compared.
    """

    sessions: Sequence[NearSession]
    pending: int
    exact: bool = True


class Passages(Protocol):
    """The passages of conversations of all collections. Every call names its collection and sees no other.

    What changes a session changes its passages in the same transaction, within a change of `versions`. A session that
    is dropped takes them along.
    """

    def put(self, collection: str, cut: Sequence[CutSession]) -> None:
        """Put the passages of stored sessions in place of those that they had.

        A passage whose key stays keeps its vectors.
        """
        ...

    def lasts(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, EmbeddedPassage]:
        """Return the last passages of sessions. One that has none is left out."""
        ...

    def grow(self, collection: str, cut: Sequence[CutSession]) -> None:
        """Put passages of sessions in place of those that are not before the first of them."""
        ...

    def drop(self, collection: str, session_id: str) -> None:
        """Drop the passages of a session."""
        ...

    def nearest(self, collection: str, vector: Vector, *, model: str, limit: int, where: PassageFilter) -> NearSessions:
        """Find the ``limit`` sessions that are nearest to a vector, each by its nearest passage.

        The nearest comes first, ties by id. The filter is a predicate of the search. A zero vector has a cosine of 0.
        """
        ...
