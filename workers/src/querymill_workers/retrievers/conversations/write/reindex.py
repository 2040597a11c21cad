"""Rebuild the text index of `conversations` from the stored sessions."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import KIND, SPACE
from querymill_workers.retrievers.conversations.write.derived import entries_of
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.words.ports import Space

#: The indexes of this retriever.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Rebuilding an entry writes no version of the session: it only keeps others from changing it.
_NO_VERSION: Final = Version(0, "")


def reindexed(collection: str, ports: ConversationPorts) -> Iterator[tuple[int, int, int]]:
    """Index the sessions one by one, each locked against other workers. Yields (done, of how many, entries)."""
    ids = ports.documents[KIND].ids(collection, {})
    for done, session_id in enumerate(ids, start=1):
        with ports.versions.changing(collection, KIND, [WrittenDocument(session_id)], _NO_VERSION, whole=False):
            known = ports.conversations.stored(collection, session_id)
            entries = [] if known is None else entries_of(known.session)
            ports.words.refill(collection, SPACE, entries)
        yield done, len(ids), len(entries)
