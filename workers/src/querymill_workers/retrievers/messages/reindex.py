"""Rebuild the text indexes of `messages` from the stored sessions."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.retrievers.messages.ingest import group_by_type, prepare_session, word_units_of
from querymill_workers.retrievers.messages.ports import KIND, NEIGHBOURS, MessagePorts
from querymill_workers.retrievers.messages.ports import SPACES as SPACE_OF
from querymill_workers.retrievers.messages.rules.neighbours import entries_of
from querymill_workers.text.words import words
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.words.ports import Space

#: The indexes of a collection's messages.
SPACES: Final[Sequence[Space]] = (*SPACE_OF.values(), NEIGHBOURS)
#: A rebuild only holds the lock of a session: it writes no version, and its own does not matter.
NO_WRITE: Final = Version(0, "")


def reindexed(collection: str, ports: MessagePorts) -> Iterator[tuple[int, int, int]]:
    """Index session by session, each under its lock.

    Yields the number of sessions done, the number of all sessions, and the number of texts just indexed.
    """
    sessions = ports.documents[KIND].ids(collection, {})
    for done, session_id in enumerate(sessions, start=1):
        with ports.versions.changing(collection, KIND, [WrittenDocument(session_id)], NO_WRITE, whole=False):
            texts = ports.sessions.texts(collection, session_id)
            for vector_type, group in group_by_type(texts):
                units = word_units_of(session_id, group)
                ports.words.refill(collection, SPACE_OF[vector_type], units)
            add_neighbours(collection, session_id, ports)
        yield done, len(sessions), len(texts)


def add_neighbours(collection: str, session_id: str, ports: MessagePorts) -> None:
    """Index the messages of a session with their neighbours."""
    stored = ports.sessions.whole(collection, [session_id]).get(session_id)
    if stored is not None:
        prepared = prepare_session(ChatSession.model_validate(stored))
        ports.words.refill(collection, NEIGHBOURS, entries_of(session_id, prepared.messages, words))
