"""The documents of one retriever, as lists, exports and deletions need them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import ValidationError

from querymill_shared.contracts.documents import DocumentCard, Unit
from querymill_shared.contracts.fields import FROM_BOARD, Contract
from querymill_shared.contracts.filters import Retriever
from querymill_shared.values import value
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.revisions import Revision
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Version, Versions, WrittenDocument

M = TypeVar("M", bound=Contract)


@value
class Entry(WrittenDocument):
    """What is known of a document apart from its texts: what filters see of it, and what lists tell.

    ``fields`` has every reserved field of the retriever. ``size`` counts ``unit``; ``when`` is that of `DocumentCard`.
    """

    title: str | None = None
    when: datetime | None = None
    size: int = 0
    unit: Unit = "characters"


def read_entry(line: Mapping[str, Any], model: type[M], entry_of: Callable[[M], Entry]) -> Entry | None:
    """Return the entry of a JSON value, or None if it does not fit the model."""
    with suppress(ValidationError):
        return entry_of(model.model_validate(line, context=FROM_BOARD))
    return None


class Documents(Protocol):
    """What is known of the documents of one retriever. Every call names its collection and sees no other.

    It changes within a versioned change of a document, in whose transaction the retriever stores the rest.
    """

    @property
    def kind(self) -> Retriever: ...

    def put(self, collection: str, entries: Sequence[tuple[Entry, Revision]]) -> None:
        """Store documents, replacing those with the same ids."""
        ...

    def extend(self, collection: str, entries: Sequence[tuple[Entry, Revision]]) -> None:
        """Add to stored documents: times and lists of fields are added, other fields replace known ones if given.

        The size and the revision are those of the whole document. The title and the metadata stay.
        """
        ...

    def drop(self, collection: str, ids: Collection[str]) -> None:
        """Drop documents. Those not stored are skipped."""
        ...

    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """List up to ``limit`` documents that pass a filter, in the order of their ids by code points, after an id."""
        ...

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """Count all documents that pass a filter."""
        ...

    def ids(
        self,
        collection: str,
        conditions: Mapping[str, Any],
        *,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> Sequence[str]:
        """List the documents that pass a filter, in order.

        Each has a time from ``start`` (inclusive) to ``end`` (exclusive), if these are given.
        """
        ...

    def revisions(self, collection: str, ids: Collection[str] | None = None) -> Mapping[str, Revision]:
        """Return the revisions of those documents that are stored, or of all."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a document."""
        ...


class Body(Protocol):
    """What a retriever stores of its documents, beside what is known of all."""

    #: Whether the documents have vectors only once these were asked for.
    embeds_if_asked: ClassVar[bool] = False

    def entry_of(self, line: Mapping[str, Any]) -> Entry | None:
        """Return what filters see of a document as requests hold it, or of a part of one; None if this is neither."""
        ...

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return documents by id as JSON values, as ``querymill ingest`` reads them. Those not stored are left out."""
        ...

    def drop(self, collection: str, document: str, version: Version, /) -> int:
        """Drop what was accepted of a document up to a version: rows, words, vectors, ranks. Return how many rows.

        It is called inside a block of `versions`, whose transaction it joins and which has told that the document was
        not written as a whole since. What was added to it since stays.
        """
        ...

    def drop_remains(self, collection: str) -> None:
        """Drop what else is stored of a collection without documents, in a block of `versions` that has it alone.

        Numbers that caches are keyed by must not begin again.
        """
        ...


class ForgetfulCaches(Protocol):
    """What models returned, cached for the fleet."""

    def erase(self, collection: str) -> None:
        """Drop what is cached for a collection, and cache nothing that is under way."""
        ...


class ForgetfulVectors(Protocol):
    """The vectors of single texts, which belong to no retriever."""

    def holds(self, collection: str) -> bool:
        """Return whether there is a vector of any text of a collection."""
        ...

    def drop(self, collection: str, *, text_ids: Collection[str], texts: Collection[str]) -> None:
        """Drop the vectors of texts with these ids, of parts of documents with these ids, and of equal texts."""
        ...

    def drop_all(self, collection: str) -> None:
        """Drop all vectors of a collection."""
        ...


class ForgetfulJudgements(Protocol):
    """What people said of hits, by the documents that these are parts of."""

    def drop(self, collection: str, retriever: Retriever, documents: Collection[str]) -> None:
        """Delete the judgements of documents."""
        ...

    def drop_all(self, collection: str, retriever: Retriever) -> None:
        """Delete all judgements."""
        ...


class Samples(Protocol):
    """What a store keeps of values to plan its statements by, beside the rows."""

    def renew(self) -> None:
        """Take the samples of all texts and ids again, so that none is of a row that is gone."""
        ...

    def renew_soon(self) -> None:
        """Take them in a moment, once for all who ask until then. Nobody waits for it."""
        ...

    def catch_up(self) -> None:
        """Take them soon if a document was dropped since: the worker that was asked may have ended before it did."""
        ...


class CleaningPorts(Common, Protocol):
    """What is cleaned after rows have been dropped, in addition to the board."""

    @property
    def fleet_caches(self) -> ForgetfulCaches: ...

    @property
    def samples(self) -> Samples: ...


class LateWritePorts(Protocol):
    """What is stored of documents, for writes that come after their forgetting."""

    @property
    def documents(self) -> Mapping[Retriever, Documents]: ...

    @property
    def bodies(self) -> Mapping[Retriever, Body]: ...

    @property
    def text_vectors(self) -> ForgetfulVectors: ...

    @property
    def judgements(self) -> ForgetfulJudgements: ...


class DocumentPorts(CleaningPorts, LateWritePorts, Protocol):
    """Everything that the flows of documents may touch."""

    @property
    def versions(self) -> Versions: ...

    @property
    def vectors(self) -> Mapping[Retriever, Vectors]: ...
