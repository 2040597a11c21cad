"""The passages of conversations that vectors are of, and the vectors."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.values import frozen
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.rules.embedded_passages import EmbeddedPassage

Vector = npt.NDArray[np.float32]


@frozen
class CutSession:
    """A session cut into passages, and the revision whose passages they are."""

    session_id: str
    revision: Revision
    passages: Sequence[EmbeddedPassage]


@frozen
class PendingPassage:
    """A passage without a vector. ``key`` is the hash that it is stored by."""

    session_id: str
    key: str
    text: str


@frozen
class PassageFilter:
    """Which passages are compared: those of some sessions, or of all with None, that have a message in a time."""

    sessions: Sequence[str] | None = None
    start: datetime | None = None
    end: datetime | None = None


@frozen
class NearSession:
    """A session with its nearest passage, and the cosine of that."""

    session_id: str
    cosine: float
    passage: EmbeddedPassage


@frozen
class NearSessions:
    """The sessions nearest to a vector, and what was not compared, at the same moment.

    ``pending`` counts the passages that pass the filter and wait for a vector, and the sessions of a release that cut
    none. ``exact`` tells whether every vector was compared.
    """

    sessions: Sequence[NearSession]
    pending: int
    exact: bool = True


@frozen
class PassageCounts:
    """How many passages a collection has; ``pending`` as in `NearSessions`."""

    passages: int
    pending: int


class Passages(Protocol):
    """The passages of conversations of all collections. Every call names its collection and sees no other.

    What changes a session changes its passages in the same transaction, within a change of the ledger. A session that
    is dropped takes them along.
    """

    def put(self, collection: str, cut: Sequence[CutSession]) -> None:
        """Put the passages of stored sessions in place of those that they had.

        A passage whose key stays keeps its vectors. What a provider refused waits for a vector again.
        """
        ...

    def lasts(self, collection: str, revisions: Mapping[str, Revision]) -> Mapping[str, EmbeddedPassage]:
        """Return the last passages of sessions. One that has none, or passages of another revision, is left out."""
        ...

    def grow(self, collection: str, cut: Sequence[CutSession]) -> None:
        """Put passages of sessions in place of those that are not before the first of them."""
        ...

    def drop(self, collection: str, session_id: str) -> None:
        """Drop the passages of a session."""
        ...

    def uncut(self, collection: str, *, limit: int) -> Sequence[str]:
        """List sessions that a release stored which cut no passages, in the order of their ids."""
        ...

    def leave(self, collection: str) -> None:
        """Forget by which model a collection without sessions is searched."""
        ...

    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        """Note by session the token of the job that waits for it, if a vector of one of the models is missing.

        A session for which a job waits already keeps its token. Returns the tokens of the sessions that lack a vector.
        """
        ...

    def begin_embedding(self, collection: str, session_ids: Sequence[str]) -> None:
        """Note that no job waits for these sessions any more: what changes from now on needs another."""
        ...

    def pending(
        self, collection: str, *, model: str, limit: int, session_ids: Sequence[str] | None = None
    ) -> Sequence[PendingPassage]:
        """List the first passages of sessions, or of all, that wait for a vector of the model."""
        ...

    def still_pending(
        self, collection: str, passages: Sequence[PendingPassage], *, model: str
    ) -> Sequence[PendingPassage]:
        """Return those passages that are stored and still wait for a vector of the model."""
        ...

    def counts(self, collection: str, *, model: str, session_ids: Sequence[str] | None = None) -> PassageCounts:
        """Count the passages of sessions, or of all, and those that wait for a vector of the model."""
        ...

    def lacking(
        self, collection: str, *, model: str, session_ids: Sequence[str] | None = None, unawaited: bool = False
    ) -> Mapping[str, int]:
        """Count by session the passages that wait for a vector of the model, where there are any.

        With ``unawaited``, only of sessions that no job waits for.
        """
        ...

    def fill(
        self, collection: str, passages: Sequence[PendingPassage], vectors: Sequence[Vector | None], *, model: str
    ) -> None:
        """Store vectors of any dimension, searchable at once. None marks a passage that the provider refused.

        A passage that was dropped meanwhile, or is another text by now, gets none.
        """
        ...

    def retry(self, collection: str, *, model: str) -> None:
        """Have the passages that the model's provider refused wait for a vector again."""
        ...

    def nearest(self, collection: str, vector: Vector, *, model: str, limit: int, where: PassageFilter) -> NearSessions:
        """Find the ``limit`` sessions that are nearest to a vector, each by its nearest passage.

        The nearest comes first, ties by id. The filter is a predicate of the search. A zero vector has a cosine of 0.
        """
        ...

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """Return the model whose vectors searches compare. A collection without one gets ``first``."""
        ...

    def switch(self, collection: str, *, model: str) -> bool:
        """Have searches compare the vectors of a model, at once and for all sessions. Return whether they do now.

        They do not while a passage waits for a vector of the model.
        """
        ...

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """Drop the vectors of all other models."""
        ...

    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:
        """Make an index of near vectors if the collection is large and has none. Return whether it was made."""
        ...

    def drop_index(self, collection: str, *, model: str) -> None:
        """Drop the index of a model, if there is one."""
        ...
