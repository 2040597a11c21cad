"""The part of the world that `messages` may touch: its stores, the text index and the embedding models."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.inference.ports import Embeddings, FormerModel, Vectors
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.messages.rules.sessions import (
    Message,
    MessageFilter,
    MessagePassage,
    MessageRow,
    PendingPassage,
    VectorType,
)
from querymill_workers.text.calibration import Calibration
from querymill_workers.words.ports import Space, Words

#: The text index of messages, and that of messages with their neighbours.
SPACES: Final[Mapping[VectorType, Space]] = {"message": "messages", "context": "message_contexts"}


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest rows, nearest first, including rows below the floor.

    ``passed`` counts the rows at or above the floor. With ``exact`` every row was compared, otherwise ``passed`` is a
    lower bound. ``skipped`` counts the rows without a vector of the model, up to 10,000.
    """

    rows: Sequence[MessageRow]
    passed: int
    exact: bool
    skipped: int = 0


class Messages(Protocol):
    """Search over stored messages. Every call names its collection and sees no other."""

    def nearest(
        self, where: MessageFilter, vector: npt.NDArray[np.float32], *, model: str, limit: int, floor: float
    ) -> Nearest:
        """Find the ``limit`` rows with the greatest cosine, ties by id. The cosine of a zero vector is 0.

        Only rows with a vector of the model are found. All of them are found if there are fewer than ``limit``.
        """
        ...

    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        """Find the newest ``limit`` rows that contain a text in any case, and count all rows that do."""
        ...

    def rows(
        self, where: MessageFilter, vector_ids: Sequence[str], vector: npt.NDArray[np.float32] | None, *, model: str
    ) -> Mapping[str, MessageRow]:
        """Fetch the named rows that pass the filter, with their cosine to the vector if one is given."""
        ...

    def lacking_sessions(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        """List the sessions of rows without a vector, those with the newest rows first."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedSession:
    """A session prepared for storing, with its messages and its passages."""

    session: ChatSession
    messages: Sequence[Message]
    passages: Sequence[MessagePassage]
    revision: Revision


class Sessions(Protocol):
    """The life of chat sessions: ingested, embedded, embedded with another model, dropped.

    Every call names its collection and sees no other.
    """

    @property
    def kind(self) -> str: ...

    def changing(self, collection: str, session_id: str) -> AbstractContextManager[None]:
        """Lock the session and its index entries against all other workers.

        Hold this lock to put or drop a session, to add a model to it, or to change its index entries.
        """
        ...

    def revision(self, collection: str, session_id: str) -> Revision | None:
        """Return the revision of a session, or None if it is not stored or not completely indexed."""
        ...

    def ids(self, collection: str) -> Sequence[str]:
        """List all sessions."""
        ...

    def passages_except(self, collection: str, session_id: str, *, keeping: Sequence[str]) -> Sequence[PendingPassage]:
        """List the stored passages of a session whose ids are not among ``keeping``, without their content."""
        ...

    def put(self, collection: str, prepared: PreparedSession, *, models: Sequence[str]) -> None:
        """Replace the stored session. Its passages are to be embedded with each of the models.

        A passage whose content has not changed keeps its vectors. Any other loses its vectors of all models.
        """
        ...

    def passages(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """List the passages of a session."""
        ...

    def unindexed(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """List the passages of a session that are missing from the text index."""
        ...

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage]) -> None:
        """Record that passages are in the text index."""
        ...

    def complete(self, collection: str, session_id: str, revision: Revision) -> None:
        """Record that a revision is stored and indexed, unless another revision has been put since."""
        ...

    def forget(self, collection: str, session_id: str) -> bool:
        """Drop a session with all its rows. Return False if there was none."""
        ...

    def await_embedding(self, collection: str, session_id: str, *, models: Sequence[str], token: str) -> str | None:
        """Record that an embedding job waits, if a vector of one of the models is missing.

        Returns the token of the job that waits: this one, or an earlier one that has not started. Returns None if no
        vector is missing.
        """
        ...

    def begin_embedding(self, collection: str, session_id: str) -> None:
        """Record that no embedding job waits any more, so that the next change submits another."""
        ...

    def pending(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """List the passages that have no vector of a model yet, messages before contexts."""
        ...

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """Store vectors, which are searchable from then on. A vector whose passage has changed since is discarded."""
        ...

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """Return the model that a collection is searched by. If it has none, it is set to ``first``."""
        ...

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """List the sessions of part ``part`` of ``parts`` in which a passage has no vector of the model."""
        ...

    def add_model(self, collection: str, session_id: str, *, model: str) -> None:
        """Have all passages of a session embedded with a model, next to the vectors that they have."""
        ...

    def switch(self, collection: str, *, model: str) -> bool:
        """Have the collection searched by a model from now on.

        Returns False, and changes nothing, if a passage has a vector of the previous model but none of this one, or if
        the collection never held a session.
        """
        ...

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """Drop the rows of other models where this model has a row."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that ever held a session."""
        ...


class MessagePorts(Common, Protocol):
    """Everything that `messages` may touch. ``former`` is the previous embedding model, if one is configured."""

    @property
    def messages(self) -> Messages: ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def words(self) -> Words: ...

    @property
    def embeddings(self) -> Embeddings: ...

    @property
    def calibration(self) -> Calibration: ...

    @property
    def former(self) -> FormerModel | None: ...
