"""Store what the accepted writes of a session amount to: its index entry, its rows and its passages."""

from collections.abc import Mapping, Sequence

from querymill_shared.contracts.ingest import IngestOutcome
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.values import value
from querymill_workers.retrievers.conversations.entry import entry_of
from querymill_workers.retrievers.conversations.history import History
from querymill_workers.retrievers.conversations.ports import StoringPorts
from querymill_workers.retrievers.conversations.ports.sessions import (
    KIND,
    SPACE,
    PreparedConversation,
    Replacement,
    StoredConversation,
)
from querymill_workers.retrievers.conversations.write.derived import cut_session, entries_of, prepare_history
from querymill_workers.words.ports import Words


@value
class Change:
    """What a write did to a session, and how many messages it has afterwards."""

    outcome: IngestOutcome
    total: int


def store_history(
    collection: str, session_id: str, known: StoredConversation | None, history: History, ports: StoringPorts
) -> Change:
    """Store a session, its index entry and its passages as its history gives them, unless nothing has changed.

    A session of which nothing is left is dropped. The vectors of new passages follow in a job of their own.
    """
    prepared = prepare_history(session_id, history, ports.technical_keywords)
    # Every writer locks the index entry before the rows, so no two of them deadlock.
    if prepared is None:
        ports.words.trim(collection, SPACE, {session_id: 0})
        ports.conversation_passages.drop(collection, session_id)
        ports.vectors[KIND].begin_embedding(collection, [session_id])
        ports.documents[KIND].drop(collection, [session_id])
        return Change("forgotten" if ports.conversations.drop(collection, session_id) else "unchanged", 0)
    if not is_new(known, history, prepared):
        return Change("unchanged", len(prepared.session.messages))
    index_again(collection, [prepared.session], ports.words)
    ports.conversations.put(collection, prepared, replacing=None if known is None else known.revision)
    note_entries(collection, [prepared], ports)
    cut_again(collection, [prepared], ports)
    return change_of(known, prepared)


@value
class StoredHistory:
    """A session as it is stored, if it is, and its history with the writes that are to be stored."""

    known: StoredConversation | None
    history: History


def store_histories(collection: str, written: Mapping[str, StoredHistory], ports: StoringPorts) -> dict[str, Change]:
    """Store sessions as `store_history` does, all in one go."""
    changes: dict[str, Change] = {}
    replacements: list[Replacement] = []
    for session_id, each in written.items():
        prepared = prepare_history(session_id, each.history, ports.technical_keywords)
        if prepared is None:
            changes[session_id] = store_history(collection, session_id, each.known, each.history, ports)
        elif not is_new(each.known, each.history, prepared):
            changes[session_id] = Change("unchanged", len(prepared.session.messages))
        else:
            replacements.append(Replacement(prepared, None if each.known is None else each.known.revision))
            changes[session_id] = change_of(each.known, prepared)
    replace_all(collection, replacements, ports)
    return changes


def replace_all(collection: str, replacements: Sequence[Replacement], ports: StoringPorts) -> None:
    """Store sessions, their index entries and their passages, in one go."""
    if not replacements:
        return
    prepared = [replacement.prepared for replacement in replacements]
    # Every writer locks the index entries before the rows, so no two of them deadlock.
    index_again(collection, [each.session for each in prepared], ports.words)
    ports.conversations.put_all(collection, replacements)
    note_entries(collection, prepared, ports)
    cut_again(collection, prepared, ports)


def note_entries(collection: str, prepared: Sequence[PreparedConversation], ports: StoringPorts) -> None:
    """Note what lists tell of stored sessions, and what filters see."""
    ports.documents[KIND].put(collection, [(entry_of(each.session), each.revision) for each in prepared])


def cut_again(collection: str, prepared: Sequence[PreparedConversation], ports: StoringPorts) -> None:
    """Put the passages of stored sessions in place of those that they had. What was refused is tried again."""
    ports.conversation_passages.put(collection, [cut_session(each.session) for each in prepared])
    ports.vectors[KIND].retry(collection, documents=[each.session.session_id for each in prepared])


def index_again(collection: str, sessions: Sequence[ChatSession], words: Words) -> None:
    """Put the index entries of sessions in place of those that they had."""
    entries = {session.session_id: entries_of(session) for session in sessions}
    words.put(collection, SPACE, [entry for of_one in entries.values() for entry in of_one])
    words.trim(collection, SPACE, {session_id: len(of_one) for session_id, of_one in entries.items()})


def is_new(known: StoredConversation | None, history: History, prepared: PreparedConversation) -> bool:
    """Return whether a session is to be stored: its content or what its writes left is not what is stored."""
    return known is None or prepared.revision != known.revision or history != known.history


def change_of(known: StoredConversation | None, prepared: PreparedConversation) -> Change:
    """Say what storing a session did to it."""
    same = known is not None and prepared.revision == known.revision
    return Change("unchanged" if same else "ingested", len(prepared.session.messages))
