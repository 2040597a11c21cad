"""Rebuild the text index of `messages` from the stored sessions."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.messages.ingest import group_by_type, word_units_of
from querymill_workers.retrievers.messages.ports import SPACES as SPACE_OF
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.words.ports import Space

#: The indexes of a collection's messages.
SPACES: Final[Sequence[Space]] = tuple(SPACE_OF.values())


def reindexed(collection: str, ports: MessagePorts) -> Iterator[tuple[int, int, int]]:
    """Index session by session, each under its lock.

    Yields the number of sessions done, the number of all sessions, and the number of passages just indexed.
    """
    sessions = ports.sessions.ids(collection)
    for done, session_id in enumerate(sessions, start=1):
        with ports.sessions.changing(collection, session_id):
            passages = ports.sessions.passages(collection, session_id)
            for vector_type, group in group_by_type(passages):
                units = word_units_of(session_id, group)
                ports.words.refill(collection, SPACE_OF[vector_type], units)
        yield done, len(sessions), len(passages)
