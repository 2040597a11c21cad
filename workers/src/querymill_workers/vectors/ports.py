"""The port of vectors: a passage gets a vector or is refused, and a collection is searched by one model."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.filters import Retriever
from querymill_shared.values import value
from querymill_workers.inference.ports import Embeddings, PreviousModel
from querymill_workers.jobs.ports import Common
from querymill_workers.vectors.rules.worth import VectorsWorth
from querymill_workers.versions.ports import Versions

#: A float32 vector of any dimension.
Vector = npt.NDArray[np.float32]


class Passage(NamedTuple):
    """A text that is embedded.

    ``document`` is the id that `versions` and the user know. ``key`` is unique within the document, and changes with
    the text: a passage that keeps its key keeps its vectors.
    """

    document: str
    key: str
    text: str


@value
class RefusedEmbedding:
    """In place of a vector: the provider refused the text. ``reason`` holds nothing of the text."""

    reason: str


class RefusedKey(NamedTuple):
    """Names a refused passage, and the model whose provider refused it."""

    document: str
    key: str
    model: str


@value
class RefusedPassage:
    """A passage that a provider refused, why, and when."""

    key: RefusedKey
    reason: str
    at: datetime


@value
class PassageCounts:
    """The passages of a collection: all, those that wait for a vector of a model, and those that were refused."""

    passages: int
    pending: int
    refused: int


class CollectionPart(NamedTuple):
    """One part of a collection, by a hash of its documents: number ``number`` of ``of``, from 0."""

    number: int
    of: int


WHOLE: Final = CollectionPart(0, 1)


class Vectors(Protocol):
    """The vectors of one retriever's passages. Every call names its collection and sees no other.

    The retriever stores the passages, and drops them with their documents. Vectors go with their passages.
    """

    @property
    def retriever(self) -> Retriever: ...

    def pending(
        self,
        collection: str,
        *,
        model: str,
        limit: int,
        documents: Collection[str] | None = None,
        part: CollectionPart = WHOLE,
        after: Passage | None = None,
    ) -> Sequence[Passage]:
        """List passages that wait for a vector of a model, in the order of documents and keys, behind ``after``."""
        ...

    def still_pending(self, collection: str, passages: Sequence[Passage], *, model: str) -> Sequence[Passage]:
        """Return those passages that are stored and still wait for a vector of the model."""
        ...

    def fill(self, collection: str, results: Mapping[Passage, Vector | RefusedEmbedding], *, model: str) -> None:
        """Store vectors, which searches compare from then on, and refusals.

        A refused passage waits no longer, until `retry` or a change of its text. What is no longer stored is skipped.
        """
        ...

    def retry(
        self,
        collection: str,
        *,
        model: str | None = None,
        documents: Collection[str] | None = None,
        part: CollectionPart = WHOLE,
    ) -> None:
        """Have refused passages wait for a vector again: of one model or all, of some documents or all."""
        ...

    def counts(
        self, collection: str, *, model: str, documents: Collection[str] | None = None, part: CollectionPart = WHOLE
    ) -> PassageCounts:
        """Count the passages of documents, or of all, at one moment."""
        ...

    def lacking(
        self, collection: str, *, model: str, documents: Collection[str] | None = None, unawaited: bool = False
    ) -> Mapping[str, int]:
        """Count by document the passages that wait for a vector of the model, where there are any.

        With ``unawaited``, only documents are counted that no job waits for.
        """
        ...

    def active_model(self, collection: str, *, first: str | None = None) -> str | None:
        """Return the model whose vectors searches compare, or None. A collection without one gets ``first``."""
        ...

    def switch(self, collection: str, *, model: str) -> bool:
        """Have searches compare the vectors of a model, at once and for all documents. Return whether they do now.

        They do not while a passage waits for a vector of the model.
        """
        ...

    def drop_model(self, collection: str) -> None:
        """Drop the model that searches of a collection compare, what each is worth, and the jobs that wait."""
        ...

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """Drop the vectors of all other models, and what they were worth."""
        ...

    def sample(self, collection: str, *, model: str, limit: int) -> Sequence[tuple[Passage, Vector]]:
        """Return some passages that have a vector of a model, at most so many: by a hash, so the same each time."""
        ...

    def still_stored(self, collection: str, passages: Sequence[Passage]) -> Sequence[Passage]:
        """Return those passages that are stored still."""
        ...

    def keep_worth(self, collection: str, worth: VectorsWorth, *, model: str) -> None:
        """Keep what the vectors of a model are worth, in place of what was kept before."""
        ...

    def worth(self, collection: str, *, model: str) -> VectorsWorth | None:
        """Return what the vectors of a model are worth on a collection, None if that is not known."""
        ...

    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        """Note by document the token of the job that waits for it, if a vector of one of the models is missing.

        A document for which a job waits already keeps its token. Returns the tokens of documents that lack a vector.
        """
        ...

    def is_awaited(self, collection: str) -> bool:
        """Return whether a job waits for any document."""
        ...

    def begin_embedding(self, collection: str, documents: Collection[str] | None) -> None:
        """Note that no job waits for documents, or for any, any more: the next change of one submits another."""
        ...

    def refused(self, collection: str, *, limit: int, after: RefusedKey | None = None) -> Sequence[RefusedPassage]:
        """List refused passages in the order of their keys, behind ``after``."""
        ...

    def count_refused(self, collection: str) -> int:
        """Count the refused passages, by all models."""
        ...

    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:
        """Make the vector index of a large collection, if the retriever searches by one. Return whether it was made."""
        ...

    def drop_index(self, collection: str, *, model: str) -> None:
        """Drop the vector index of a model, if there is one."""
        ...


class VectorPorts(Common, Protocol):
    """What embedding may touch. ``previous`` is the previous embedding model, if one is configured."""

    @property
    def vectors(self) -> Mapping[Retriever, Vectors]: ...

    @property
    def versions(self) -> Versions: ...

    @property
    def embeddings(self) -> Embeddings: ...

    @property
    def previous(self) -> PreviousModel | None: ...
