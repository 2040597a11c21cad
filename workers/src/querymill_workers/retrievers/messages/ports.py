"""The part of the world that `messages` may touch: its stores, the text index and the embedding models."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.values import frozen
from querymill_workers.documents.ports import BurialPorts, CleaningPorts
from querymill_workers.inference.ports import Embeddings, PreviousModel, Vectors
from querymill_workers.jobs.revisions import Revision
from querymill_workers.ledger.ports import Ledger
from querymill_workers.retrievers.messages.rules.sessions import (
    Message,
    MessageFilter,
    MessagePassage,
    MessageRow,
    MessageText,
    PendingPassage,
    VectorType,
)
from querymill_workers.set_aside.ports import SetAside
from querymill_workers.text.calibration import Calibration
from querymill_workers.words.ports import Space, Words

#: The text index of messages, and that of messages with their neighbours.
SPACES: Final[Mapping[VectorType, Space]] = {"message": "messages", "context": "message_contexts"}

#: The text index of messages in which the words of their neighbours count in part.
NEIGHBOURS: Final[Space] = "message_neighbours"


@frozen
class Nearest:
    """The nearest messages, nearest first, including those below the floor.

    Of several rows of a message (its context, passages of a long text) it has the nearest. ``passed`` counts the
    messages at or above the floor. With ``exact`` every row was compared, otherwise ``passed`` is a lower bound.
    ``skipped`` counts the rows without a vector of the model, up to 10,000, and ``pending`` those of them that wait for
    one: the others were refused.
    """

    rows: Sequence[MessageRow]
    passed: int
    exact: bool
    skipped: int = 0
    pending: int = 0


class Messages(Protocol):
    """Search over stored messages. Every call names its collection and sees no other."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all calls of this thread, also those of the text index, see the same state until the block ends."""
        ...

    def nearest(
        self,
        where: MessageFilter,
        vector: npt.NDArray[np.float32],
        *,
        model: str,
        limit: int,
        floor: float,
        brief: bool = False,
    ) -> Nearest:
        """Find the ``limit`` messages with the greatest cosine, ties by id. The cosine of a zero vector is 0.

        Only rows with a vector of the model are compared. All messages are found if there are fewer than ``limit``.
        ``brief`` rows may lack what only a hit shows: content, names, role, metadata and passage.
        """
        ...

    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        """Find the newest ``limit`` texts that contain another in any case, and count all that do."""
        ...

    def rows(
        self,
        where: MessageFilter,
        vector_ids: Sequence[str],
        vector: npt.NDArray[np.float32] | None,
        *,
        model: str,
        brief: bool = False,
    ) -> Mapping[str, MessageRow]:
        """Fetch the named texts that pass the filter, with their cosine to the vector if one is given.

        ``brief`` rows may lack what only a hit shows, as those of `nearest`.
        """
        ...

    def sessions_of(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        """List up to ``limit`` sessions that have a row that passes the filter."""
        ...

    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:
        """Make the index of a large collection's vectors, if there is none. Return whether it was made."""
        ...

    def drop_index(self, collection: str, *, model: str) -> None:
        """Drop the index of a model's vectors, if there is one."""
        ...


@frozen
class PreparedSession:
    """A session prepared for storing, with its messages and its passages."""

    session: ChatSession
    messages: Sequence[Message]
    passages: Sequence[MessagePassage]
    revision: Revision


@frozen
class ChangedTexts:
    """The texts that a session has gained, and those that it has lost, without their content."""

    added: Sequence[MessageText]
    dropped: Sequence[MessageText]


@frozen
class DroppedSession:
    """What was dropped: whether there was a session, how many passages, and its texts without their content."""

    was_there: bool
    passages: int
    texts: Sequence[MessageText]


class Sessions(Protocol):
    """The life of chat sessions: ingested, embedded, embedded with another model, dropped.

    Every call names its collection and sees no other.
    """

    @property
    def kind(self) -> str: ...

    def revisions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Revision]:
        """Return the revisions of those sessions that are stored."""
        ...

    def ids(self, collection: str) -> Sequence[str]:
        """List all sessions."""
        ...

    def put(
        self, collection: str, prepared: Sequence[PreparedSession], *, models: Sequence[str]
    ) -> Mapping[str, ChangedTexts]:
        """Replace stored sessions. Their passages are to be embedded with each of the models.

        Returns what has changed by session. No session may occur twice.

        A text that has not changed keeps its vectors. Any other loses its vectors of all models. Passages that were
        refused are tried again.
        """
        ...

    def grow(self, collection: str, passages: int) -> None:
        """Note that passages were stored and committed, so that the store adapts to a collection that grows fast."""
        ...

    def texts(self, collection: str, session_id: str) -> Sequence[MessageText]:
        """List the texts of a session."""
        ...

    def forget(self, collection: str, session_id: str) -> DroppedSession:
        """Drop a session with all its rows."""
        ...

    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        """Record that embedding jobs wait, given a token for each session.

        Returns, for each session in which a vector of one of the models is missing and was not refused, the token of
        the job that waits: the given one, or that of an earlier job that has not started.
        """
        ...

    def begin_embedding(self, collection: str, session_ids: Sequence[str]) -> None:
        """Record that no embedding job of these sessions waits any more, so that the next change submits another."""
        ...

    def pending(
        self, collection: str, session_ids: Sequence[str], *, model: str, limit: int
    ) -> Sequence[PendingPassage]:
        """List the first passages of sessions that wait for a vector of a model, messages before contexts."""
        ...

    def count_pending(self, collection: str, session_ids: Sequence[str], *, model: str) -> int:
        """Count the passages of sessions that wait for a vector of a model."""
        ...

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """Store vectors, which are searchable from then on. A vector whose passage has changed since is discarded."""
        ...

    def refuse(self, collection: str, passages: Sequence[PendingPassage], *, model: str) -> Sequence[str]:
        """Record that a model's provider refused passages: they wait no more. Return the ids of those still stored."""
        ...

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """Return the model that a collection is searched by. If it has none, it is set to ``first``."""
        ...

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """List the sessions of part ``part`` of ``parts`` in which a passage has no vector of the model."""
        ...

    def add_model(self, collection: str, session_id: str, *, model: str) -> None:
        """Have all passages of a session embedded with a model, next to the vectors that they have.

        Passages that the model's provider refused are tried again.
        """
        ...

    def switch(self, collection: str, *, model: str) -> bool:
        """Have the collection searched by a model from now on.

        Returns False, and changes nothing, if a passage has a vector of the previous model but none of this one, which
        was not refused either, or if the collection never held a session.
        """
        ...

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """Drop the rows of other models where this model has a row."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that ever held a session."""
        ...

    def listed(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """List sessions that pass a filter in the order of their ids by code points, after an id."""
        ...

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """Count the sessions that pass a filter."""
        ...

    def whole(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return sessions by id as JSON values, as ingestion reads them."""
        ...

    def leave(self, collection: str) -> str | None:
        """Take a collection without sessions off the list of collections. Return the model that it was searched by."""
        ...


class DropPorts(Protocol):
    """Where something of a session is stored."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def words(self) -> Words: ...

    @property
    def set_aside(self) -> SetAside: ...


class MessagePorts(CleaningPorts, BurialPorts, Protocol):
    """Everything that `messages` may touch. ``previous`` is the previous embedding model, if one is configured."""

    @property
    def messages(self) -> Messages: ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def words(self) -> Words: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def embeddings(self) -> Embeddings: ...

    @property
    def calibration(self) -> Calibration: ...

    @property
    def previous(self) -> PreviousModel | None: ...
