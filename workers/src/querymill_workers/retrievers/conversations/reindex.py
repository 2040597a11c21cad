"""Rebuild the text index of `conversations` from the stored sessions."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.ledger.ports import Subject, Version
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import KIND, SPACE
from querymill_workers.retrievers.conversations.prepare import cut_session, entries_of, prepare_history
from querymill_workers.retrievers.conversations.storing import cut_again, index_again
from querymill_workers.words.ports import Space

#: The indexes of this retriever.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Sessions listed at a time.
LISTED: Final = 500
#: Rebuilding an entry writes no version of the session: it only keeps others from changing it.
_NO_VERSION: Final = Version(0, "")


def index_in_passages(collection: str, ports: ConversationPorts) -> int:
    """Index in passages the sessions that an earlier release wrote. Return how many there were."""
    total, before = 0, None
    while (found := ports.conversations.in_one_entry(collection, limit=LISTED)) and found != before:
        before = found
        for session_id in found:
            with ports.ledger.changing(collection, KIND, [Subject(session_id)], _NO_VERSION, whole=False):
                known = ports.conversations.stored(collection, session_id)
                if known is None:
                    continue
                prepared = prepare_history(session_id, known.history, ports.technical_keywords)
                if prepared is not None:
                    index_again(collection, [prepared.session], ports.words)
                    ports.conversations.put(collection, prepared, replacing=known.revision)
                    cut_again(collection, [prepared], ports)
                    total += 1
    cut_what_is_uncut(collection, ports)
    return total


def cut_what_is_uncut(collection: str, ports: ConversationPorts) -> None:
    """Cut the sessions into passages that an earlier release stored without. Their words stay as they are."""
    before = None
    while (found := ports.conversation_passages.uncut(collection, limit=LISTED)) and found != before:
        before = found
        for session_id in found:
            with ports.ledger.changing(collection, KIND, [Subject(session_id)], _NO_VERSION, whole=False):
                known = ports.conversations.stored(collection, session_id)
                if known is not None:
                    cut = cut_session(known.session, known.revision)
                    ports.conversation_passages.put(collection, [cut])


def reindexed(collection: str, ports: ConversationPorts) -> Iterator[tuple[int, int, int]]:
    """Index the sessions one by one, each locked against other workers. Yields (done, of how many, entries)."""
    ids = ports.conversations.passing(collection, {})
    for done, session_id in enumerate(ids, start=1):
        with ports.ledger.changing(collection, KIND, [Subject(session_id)], _NO_VERSION, whole=False):
            known = ports.conversations.stored(collection, session_id)
            entries = [] if known is None else entries_of(known.session)
            ports.words.refill(collection, SPACE, entries)
        yield done, len(ids), len(entries)
