"""What the flows need to keep the ranks of conversations fresh: the graph of references, and its rebuilding."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.rules.reference_search import FactTable, ReferenceColumns
from querymill_workers.retrievers.conversations.rules.references import Near, Reference
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

RankMode = Literal["count", "pagerank"]


class ReferenceGraph(Protocol):
    """The sessions and references of one collection, held for one transaction: nobody else changes its ranks."""

    @property
    def mode(self) -> RankMode:
        """How the reference part is made."""
        ...

    def changed(self, *, limit: int) -> Sequence[str]:
        """List sessions that were changed or dropped since their ranks were updated, the longest waiting first."""
        ...

    def facts(self, session_id: str) -> SessionFacts | None:
        """Fetch what ranking knows of a session; None when it is not there."""
        ...

    def near(self, session: SessionFacts) -> Sequence[Near]:
        """List every session that may refer to this one, or be referred to by it, explicitly or implicitly."""
        ...

    def references(self, session_id: str) -> Sequence[Reference]:
        """List the references from a session and to it."""
        ...

    def explicit(self, sources: Sequence[str]) -> Mapping[str, Reference]:
        """Fetch the explicit references from sessions, by their source."""
        ...

    def replace(self, gone: Iterable[Reference], new: Iterable[Reference]) -> None:
        """Take references away, and add others."""
        ...

    def count(self, targets: Iterable[str]) -> None:
        """Work the reference parts of sessions out anew, from the references that are there."""
        ...

    def mark_updated(self, session_ids: Sequence[str]) -> None:
        """Note that the ranks of changed sessions are updated."""
        ...


@dataclass(frozen=True, slots=True)
class Published:
    """What a rebuild put in force."""

    sessions: int
    references: int
    version: int


@dataclass(frozen=True, slots=True)
class RankRow:
    """A session as `ranks show` lists it; ``references`` is what the references to it count together."""

    session_id: str
    name: str | None
    last_active: datetime
    parts: RankParts
    references: float


class ConversationRanks(Protocol):
    """The ranks of the conversations of all collections; every call names its collection."""

    def graph(self, collection: str) -> AbstractContextManager[ReferenceGraph]:
        """Hold a collection's graph; what was done is kept when the block ends well, and the generation rises.

        Raises:
            Unavailable: Somebody else holds it.
        """
        ...

    def updates(self, collection: str) -> int:
        """Count how often the graph was held, to name the next update after."""
        ...

    def waiting(self, collection: str) -> int:
        """Count the sessions whose ranks are to be updated."""
        ...

    def find_facts(
        self, collection: str, version: str, facts_of: Callable[[ChatSession], SessionFacts], *, limit: int
    ) -> bool:
        """Find the facts of some sessions anew whose facts were found by other rules; False when none is left.

        Many may do so at once; who finds none left waits for those that others are at. The parts that are in
        force stay as they are until a rebuild is published.
        """
        ...

    def begin(self, collection: str, rebuild: str, *, mode: RankMode) -> set[int]:
        """Begin a rebuild, or join it, and return the parts of it that are there already.

        A session that is changed from now on is updated again after the rebuild is published.

        Raises:
            Refused: Another rebuild has begun since.
        """
        ...

    def table(self, collection: str) -> FactTable:
        """Fetch the facts of all sessions."""
        ...

    def draft(self, collection: str, rebuild: str, part: int, found: ReferenceColumns, table: FactTable) -> None:
        """Store the references that one part of a rebuild found, not in force yet."""
        ...

    def publish(self, collection: str, rebuild: str, *, parts: int) -> Published | None:
        """Put a rebuild in force, whole and at once, if all its parts are there; the same again changes nothing.

        None while parts are missing.

        Raises:
            Refused: Another rebuild has begun since.
        """
        ...

    def rebuilt_before(self, moment: datetime) -> Sequence[tuple[str, RankMode]]:
        """List the collections whose last rebuild, or whose first session, was before a moment, with their modes."""
        ...

    def top(self, collection: str, *, now: datetime, limit: int) -> Sequence[RankRow]:
        """List the sessions of the highest ranks as of a time, highest first, ties on the id."""
        ...
