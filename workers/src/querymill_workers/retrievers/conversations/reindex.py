"""Rebuild the text index of `conversations` from the stored sessions."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.prepare import entry_of
from querymill_workers.words.ports import Space

#: The indexes of this retriever.
SPACES: Final[Sequence[Space]] = (SPACE,)


def reindexed(collection: str, ports: ConversationPorts) -> Iterator[tuple[int, int, int]]:
    """Index the sessions one by one, each locked against other workers. Yields (done, of how many, entries)."""
    ids = ports.conversations.active_between(collection, None, None)
    for done, session_id in enumerate(ids, start=1):
        with ports.conversations.changing(collection, session_id):
            known = ports.conversations.stored(collection, session_id)
            entries = [] if known is None else [entry_of(known.session)]
            ports.words.refill(collection, SPACE, entries)
        yield done, len(ids), len(entries)
