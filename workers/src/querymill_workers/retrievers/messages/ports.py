"""What the flows need of chat messages: searching them, and the life of the sessions they are from."""

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

#: The words of messages, and those of messages amid their neighbours.
SPACES: Final[Mapping[VectorType, Space]] = {"message": "messages", "context": "message_contexts"}


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest rows, the nearest first, whatever their cosine; ``passed`` counts those at or above the floor.

    With ``exact`` every row was examined, else ``passed`` is a lower bound. ``skipped`` counts the rows without a
    vector of the model; counting ends at 10,000.
    """

    rows: Sequence[MessageRow]
    passed: int
    exact: bool
    skipped: int = 0


class Messages(Protocol):
    """The messages of all chats as they are searched; every call names its collection, and sees no other."""

    def nearest(
        self, where: MessageFilter, vector: npt.NDArray[np.float32], *, model: str, limit: int, floor: float
    ) -> Nearest:
        """Find the ``limit`` rows with the greatest cosine, ties on the id; a zero vector's cosine is 0.

        Never fewer rows than there are, up to ``limit``; only rows with a vector of the model.
        """
        ...

    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        """Find rows that contain a text, whatever its case, the newest first; and count them all."""
        ...

    def rows(
        self, where: MessageFilter, vector_ids: Sequence[str], vector: npt.NDArray[np.float32] | None, *, model: str
    ) -> Mapping[str, MessageRow]:
        """Fetch those of the rows that the filter lets through, with their cosine to the vector if one is given."""
        ...

    def lacking_sessions(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        """List the sessions of rows that lack a vector, those with the newest rows first."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedSession:
    """A session as it is to be stored, with what is found of it."""

    session: ChatSession
    messages: Sequence[Message]
    passages: Sequence[MessagePassage]
    revision: Revision


class Sessions(Protocol):
    """The life of chat sessions: taken in, embedded, embedded anew by another model, forgotten.

    Every call names its collection, and sees no other.
    """

    @property
    def kind(self) -> str: ...

    def changing(self, collection: str, session_id: str) -> AbstractContextManager[None]:
        """Let nobody else change the session and its words meanwhile, wherever they run.

        Whoever puts, prepares or forgets a session, or changes its words, does it within this.
        """
        ...

    def revision(self, collection: str, session_id: str) -> Revision | None:
        """Return the revision of a session whose words are all there."""
        ...

    def ids(self, collection: str) -> Sequence[str]:
        """List every session."""
        ...

    def passages_except(self, collection: str, session_id: str, *, keeping: Sequence[str]) -> Sequence[PendingPassage]:
        """List what is stored of the session and is not kept, without its content."""
        ...

    def put(self, collection: str, prepared: PreparedSession, *, models: Sequence[str]) -> None:
        """Store a session over what is there of it, to be embedded by each of the models.

        A passage whose content is unchanged keeps its vectors; another has none of any model any more.
        """
        ...

    def passages(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """List what is found of a session."""
        ...

    def unindexed(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """List the passages that are not among the words."""
        ...

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage]) -> None:
        """Note that passages are among the words."""
        ...

    def complete(self, collection: str, session_id: str, revision: Revision) -> None:
        """Note that all is there of a revision, its words too."""
        ...

    def forget(self, collection: str, session_id: str) -> bool:
        """Drop a session with all its rows; False when there was none."""
        ...

    def await_embedding(self, collection: str, session_id: str, *, models: Sequence[str], token: str) -> str | None:
        """Note that an embedding is asked for, if a vector of one of the models is lacking.

        Returns the token of the one that waits: this one, or an earlier one that has not begun.
        """
        ...

    def begin_embedding(self, collection: str, session_id: str) -> None:
        """Note that none waits any more: what comes from now on asks for another."""
        ...

    def pending(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """List the passages that are to be embedded by a model, messages before contexts."""
        ...

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """Store vectors, searchable from then on; one whose content has changed meanwhile is dropped."""
        ...

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """Return the model that a collection is searched by; where there is none, it is ``first`` from then on."""
        ...

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """List the sessions that lack a vector of the model, of one of so many parts of the collection."""
        ...

    def add_model(self, collection: str, session_id: str, *, model: str) -> None:
        """Have all passages of a session embedded by a model too, beside those that they have."""
        ...

    def switch(self, collection: str, *, model: str) -> bool:
        """Have the collection searched by a model from now on, at once.

        False when it lacks a vector of something that has one of the model before.
        """
        ...

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """Drop the rows of other models, where this one has its own."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that ever held a session."""
        ...


class MessagePorts(Common, Protocol):
    """The part of the world that `messages` may touch. ``former`` is the previous embedding model, if configured."""

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
