"""The ranks of conversations: the graph of references, its updates and its rebuilds."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Literal, Protocol

from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.rules.reference_search import FactTable, ReferenceColumns
from querymill_workers.retrievers.conversations.rules.references import Near, Reference
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

RankMode = Literal["count", "pagerank"]


class Underway(Exception):
    """Raised when another rebuild of a collection has begun and is not published yet. ``rebuild`` names it."""

    def __init__(self, rebuild: str) -> None:
        super().__init__(rebuild)
        self.rebuild = rebuild


class ReferenceGraph(Protocol):
    """The sessions and references of one collection, locked for one transaction against other changes of its ranks."""

    @property
    def mode(self) -> RankMode:
        """How the reference part of a rank is computed."""
        ...

    def changed(self, *, limit: int) -> Sequence[str]:
        """List up to ``limit`` sessions that changed since their ranks were updated, the longest waiting first."""
        ...

    def facts(self, session_id: str) -> SessionFacts | None:
        """Fetch the facts of a session, or None if it is not stored."""
        ...

    def near(self, session: SessionFacts) -> Sequence[Near]:
        """List every session that a reference may connect with this session, in either direction."""
        ...

    def references(self, session_id: str) -> Sequence[Reference]:
        """List the references from a session and to it."""
        ...

    def explicit(self, sources: Sequence[str]) -> Mapping[str, Reference]:
        """Fetch the explicit references from sessions, by source."""
        ...

    def replace(self, gone: Iterable[Reference], new: Iterable[Reference]) -> None:
        """Remove references, and add others."""
        ...

    def count(self, targets: Iterable[str]) -> None:
        """Recompute the reference parts of sessions from the stored references."""
        ...

    def mark_updated(self, session_ids: Sequence[str]) -> None:
        """Note that the ranks of these sessions are up to date."""
        ...


@value
class Published:
    """What a rebuild activated: two counts, and its version.

    Versions come from one sequence for all collections, so that of a collection's first rebuild need not be 1. They
    only have to grow within a collection. A counter of its own would have to outlive the collection's rebuilds.
    """

    sessions: int
    references: int
    version: int


@value
class RankRow:
    """A session as `ranks show` lists it; ``references`` is the weighted count of references to it."""

    session_id: str
    name: str | None
    last_active: datetime
    parts: RankParts
    references: float


class ConversationRanks(Protocol):
    """The ranks of the conversations of all collections. Every call names its collection."""

    def graph(self, collection: str) -> AbstractContextManager[ReferenceGraph]:
        """Lock the graph of a collection. If the block succeeds, its changes are stored and the generation rises.

        Raises:
            Unavailable: Another caller holds the lock.
        """
        ...

    def updates(self, collection: str) -> int:
        """Count the updates of the graph so far; the key of the next update is made of it."""
        ...

    def waiting(self, collection: str) -> int:
        """Count the sessions that wait for an update of their ranks."""
        ...

    def find_facts(
        self, collection: str, version: str, facts_of: Callable[[ChatSession], SessionFacts], *, limit: int
    ) -> bool:
        """Extract again the facts of up to ``limit`` sessions whose facts are of another version.

        Return False if none is left. Many workers may call this at once. A worker that finds none left waits for the
        sessions that the others hold. The active ranks stay as they are until a rebuild is published.
        """
        ...

    def begin(self, collection: str, rebuild: str, *, mode: RankMode, over: Collection[str] = ()) -> set[int]:
        """Begin a rebuild, or join it, and return its parts that are stored already.

        Sessions that change from now on are updated again after the rebuild is published. ``over`` names rebuilds that
        nobody works on any more, although they were not published.

        Raises:
            Underway: Another rebuild has begun before and is not published yet.
            Refused: Another rebuild has begun since.
        """
        ...

    def table(self, collection: str) -> FactTable:
        """Fetch the facts of all sessions."""
        ...

    def draft(self, collection: str, rebuild: str, part: int, found: ReferenceColumns, table: FactTable) -> None:
        """Store the references of one part of a rebuild, to be activated by `publish`."""
        ...

    def publish(self, collection: str, rebuild: str, *, parts: int) -> Published | None:
        """Activate a rebuild as a whole and return what it holds, or None while parts are missing.

        Publishing it again changes nothing.

        Raises:
            Refused: Another rebuild has begun since.
        """
        ...

    def rebuilt_before(self, moment: datetime) -> Sequence[tuple[str, RankMode]]:
        """List the collections whose last rebuild (or first session) is older than a moment, with their modes."""
        ...

    def top(self, collection: str, *, now: datetime, limit: int) -> Sequence[RankRow]:
        """List the ``limit`` sessions with the highest ranks as of a time, highest first, ties by id."""
        ...
