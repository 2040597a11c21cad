"""The part of the world that `messages` may touch: its stores, the text index and the vectors."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.values import value
from querymill_workers.documents.ports import CleaningPorts, Documents, LateWritePorts
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.messages.rules.sessions import (
    MessageFilter,
    MessagePassage,
    MessageRow,
    MessageText,
    SessionMessage,
    VectorType,
)
from querymill_workers.text.calibration import Calibration
from querymill_workers.vectors.ports import VectorPorts, Vectors
from querymill_workers.words.ports import Space, Words

#: The name of this retriever in `versions`.
KIND: Final[Retriever] = "messages"
#: The text index of messages, and that of messages with their neighbours.
SPACES: Final[Mapping[VectorType, Space]] = {"message": "messages", "context": "message_contexts"}

#: The text index of messages in which the words of their neighbours count in part.
NEIGHBOURS: Final[Space] = "message_neighbours"


@value
class Nearest:
    """The nearest messages, nearest first, including those below the floor.

    Of several rows of a message (its context, passages of a long text) it has the nearest. ``passed`` counts the
    messages at or above the floor. With ``exact`` every row was compared, otherwise ``passed`` is a lower bound.
    ``skipped`` counts the rows without a vector of the model, up to 10,000, and ``pending`` those of them that were not
    refused.
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


@value
class PreparedSession:
    """A session prepared for storing, with its messages and its passages."""

    session: ChatSession
    messages: Sequence[SessionMessage]
    passages: Sequence[MessagePassage]
    revision: Revision


@value
class ChangedTexts:
    """The texts that a session has gained, and those that it has lost, without their content."""

    added: Sequence[MessageText]
    dropped: Sequence[MessageText]


@value
class DroppedSession:
    """What was dropped: whether there was a session, how many passages, and its texts without their content."""

    was_there: bool
    passages: int
    texts: Sequence[MessageText]


class Sessions(Protocol):
    """The life of chat sessions: ingested, exported, dropped.

    Every call names its collection and sees no other.
    """

    def put(self, collection: str, prepared: Sequence[PreparedSession]) -> Mapping[str, ChangedTexts]:
        """Replace stored sessions, of which none may occur twice. Return what has changed by session.

        A text that has not changed keeps its vectors. Any other loses its vectors of all models.
        """
        ...

    def grow(self, collection: str, passages: int) -> None:
        """Note that passages were stored and committed, so that the store adapts to a collection that grows fast."""
        ...

    def texts(self, collection: str, session_id: str) -> Sequence[MessageText]:
        """List the texts of a session."""
        ...

    def drop(self, collection: str, session_id: str) -> DroppedSession:
        """Drop a session with all its rows."""
        ...

    def whole(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return sessions by id as JSON values, as ingestion reads them."""
        ...


class DropPorts(Protocol):
    """Where something of a session is stored."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def words(self) -> Words: ...

    @property
    def vectors(self) -> Mapping[Retriever, Vectors]: ...

    @property
    def documents(self) -> Mapping[Retriever, Documents]: ...


class MessagePorts(VectorPorts, CleaningPorts, LateWritePorts, Protocol):
    """Everything that `messages` may touch."""

    @property
    def messages(self) -> Messages: ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def words(self) -> Words: ...

    @property
    def calibration(self) -> Calibration: ...
