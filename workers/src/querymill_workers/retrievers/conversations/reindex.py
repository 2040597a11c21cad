"""Making the words of `conversations` anew from what is stored, some at a time."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.prepare import entry_of
from querymill_workers.words.ports import Space

#: Where the words are.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Documents whose words are made in one transaction.
DOCUMENTS_BATCH: Final = 100


def reindexed(collection: str, ports: ConversationPorts) -> Iterator[tuple[int, int, int]]:
    """Go through the sessions; no other worker changes a session while its words are made."""
    ids = ports.conversations.active_between(collection, None, None)
    for done, session_id in enumerate(ids, start=1):
        with ports.conversations.changing(collection, session_id):
            known = ports.conversations.stored(collection, session_id)
            units = [] if known is None else [entry_of(known.session)]
            ports.words.refill(collection, SPACE, units)
        yield done, len(ids), len(units)
