"""The port of `versions`: one locked change per document, in the order in which the board accepted the writes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol

from querymill_shared.board import Claim
from querymill_shared.values import value

#: The filter that every document passes.
EVERYTHING: Final[Mapping[str, Any]] = MappingProxyType({})
#: How long a tombstone stays at least, in days. A dead job can be replayed for seven, and must not bring back what was
#: forgotten. Later tombstones of the same collection sweep earlier ones away.
TOMBSTONE_DAYS: Final = 8


@dataclass(frozen=True, order=True, slots=True)
class Version:
    """When the board accepted a write, in µs since the epoch by the board's clock. Ties are broken by the job's id."""

    accepted_us: int
    job_id: str


@value
class WrittenDocument:
    """A document of a write, with what filters of tombstones are matched against: its fields and its metadata."""

    document: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


#: Of a document that was never written as a whole. Every version of a job is newer.
NEVER: Final = Version(0, "")


@value
class Tombstone:
    """What stands for a filter that was forgotten: since when, and whether a document passes it."""

    version: Version
    covers: Callable[[WrittenDocument], bool]


@value
class Standing:
    """How a write stands to what is stored of its document.

    ``known`` is the version of the last whole write, or None if there was none since the document was dropped.
    ``forgotten`` tells whether the document, or all that it belongs to, was forgotten after this write was accepted.
    ``barred_at`` is when a filter was forgotten that a whole write passes, or everything, if nothing else stands
    against the write: it has replaced what is older, and what is older goes. ``filters`` are the tombstones that are
    newer than the write.
    """

    version: Version
    known: Version | None
    forgotten: bool
    barred_at: Version | None = None
    filters: Sequence[Tombstone] = field(default=(), compare=False, repr=False)

    @property
    def newest(self) -> bool:
        """Return whether the write counts: nothing newer replaces it. A repeated attempt of the same job counts."""
        return not self.forgotten and self.reaches_known

    @property
    def reaches_known(self) -> bool:
        """Return whether the stored document, as it was last written as a whole, is not newer than this version."""
        return self.known is None or self.known <= self.version

    def barred_by(self, subject: WrittenDocument) -> Version | None:
        """Return when the newest filter was forgotten that a document passes, or None."""
        return max((tomb.version for tomb in self.filters if tomb.covers(subject)), default=None)


def standing_of(
    version: Version,
    known: Version | None,
    *,
    dropped: Collection[Version],
    everything: Version,
    filters: Sequence[Tombstone],
    subject: WrittenDocument | None,
) -> Standing:
    """Return how a write stands to the tombstones of its document.

    Args:
        version: of the write.
        known: the version of the last whole write.
        dropped: when the document was dropped.
        everything: when the whole collection was last dropped. That takes a while, and until then what this write has
            replaced would be found.
        filters: what was forgotten by a filter after the write was accepted.
        subject: what filters see of a whole write. None for a part: only the document that it belongs to shows whether
            it passes a filter.
    """
    standing = Standing(version, known, any(tombstone > version for tombstone in dropped), None, filters)
    barred_at = standing.barred_by(subject) if subject is not None and standing.newest else None
    if everything > version:
        whole = subject is not None and standing.newest
        return Standing(version, known, forgotten=True, barred_at=everything if whole else None, filters=filters)
    return (
        standing
        if barred_at is None
        else Standing(version, known, forgotten=True, barred_at=barred_at, filters=filters)
    )


class Versioned(Protocol):
    """What is stored with versions. A board that was moved or has lost its data must give larger ones."""

    def largest_version(self, at_least_us: int) -> int:
        """Return the largest version, in µs, that is not below a number, or 0 if there is none, in all collections."""
        ...


class Versions(Versioned, Protocol):
    """The versions and tombstones of all documents. Every call names its collection and kind and sees no other.

    ``kind`` is the retriever that holds the document. An older version never replaces a newer one, whichever job runs
    last, and a tombstone keeps a late job from bringing back what was forgotten.
    """

    def now_us(self) -> int:
        """Return the time by the store's clock, in µs since the epoch."""
        ...

    def changing(
        self, collection: str, kind: str, subjects: Sequence[WrittenDocument], version: Version, *, whole: bool = True
    ) -> AbstractContextManager[Mapping[str, Standing]]:
        """Lock documents against all other writers, in any process, and return how the write stands to each.

        The block is one transaction. Stores with transactions that this thread uses inside it join it, so rows, words
        and versions are committed together or not at all. At a normal end, each document for which the write is the
        newest has its version, unless the write is not ``whole``: one that adds to a document replaces nothing. A whole
        write that is ``barred_at`` leaves a tombstone in place of its version.

        Raises:
            Conflict: Another writer held a document for too long.
        """
        ...

    def dropping(self, collection: str, kind: str, document: str, version: Version) -> AbstractContextManager[Standing]:
        """Lock a document like `changing`. At a normal end, a tombstone of this version stands for it.

        A drop that is not the newest must leave the document alone. It leaves its tombstone nevertheless: what was
        accepted before it stays forgotten.
        """
        ...

    def alone(self, collection: str, kind: str) -> AbstractContextManager[None]:
        """Wait for the writers of a collection that are at work, and keep others out until the end of the block.

        Like `changing`, the block is one transaction, which stores join.
        """
        ...

    def leave_tombstone(self, collection: str, kind: str, document: str, *, written: Version, parts: Version) -> None:
        """Leave the tombstone of a document that passes a forgotten filter, within a change of the document.

        Args:
            collection: of the document.
            kind: of the document.
            document: the id.
            written: the version that passed the filter. A later one that does not pass stands, whichever runs last.
            parts: when the filter was forgotten. What was added to the document before stays forgotten.
        """
        ...

    def leave_tombstones(self, collection: str, kind: str, documents: Collection[str], version: Version) -> None:
        """Leave tombstones of further documents, of any kind, within a change. Waits for those who write them.

        Raises:
            Conflict: Another writer held one for too long.
        """
        ...

    def leave_filter_tombstone(
        self,
        collection: str,
        kind: str,
        version: Version,
        *,
        conditions: Mapping[str, Any] = EVERYTHING,
        documents: Collection[str] = (),
    ) -> None:
        """Leave a tombstone for every document of a collection that passes a filter, before its rows are dropped.

        With ``documents``, it is for these alone. Waits for the writers that are at work. Those that begin later, and
        were accepted earlier, are told.
        """
        ...


def version_of(claim: Claim) -> Version:
    """Return the version of the write that a job makes."""
    return Version(claim.accepted_us, claim.job_id)


def version_floor(versions: Versions, conversations: Versioned, at_least_us: int) -> int:
    """Return a number, in µs, that no version of an earlier write is above, if the stores have any above another.

    A write that was under way when the board lost its data is not stored yet. Its version is a time, and not after that
    of the store's clock: the clock of the board's next server may be behind.
    """
    stored = (store.largest_version(at_least_us) for store in (versions, conversations))
    return max(versions.now_us(), *stored)
