"""Add new messages to many sessions in one job: each as if they came alone, but many sessions in one change."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.conversations.grow import GrowConversations, GrowConversationsResult
from querymill_shared.contracts.conversations.ingest import SessionUpdate
from querymill_shared.contracts.loading import LoadedDocument
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.loading import Loading, ending_of, load_slices
from querymill_workers.ledger.ports import Subject, Version, version_of
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import KIND
from querymill_workers.retrievers.conversations.rules.embedded_passages import EMBEDDED_CHARS
from querymill_workers.retrievers.conversations.write.ingest import apply_updates
from querymill_workers.retrievers.conversations.write.load import hand_in_loaded

#: Seconds that grown sessions wait for more before they are embedded. One that grows every second, as a follower sends
#: it, would have its last passage embedded every second. Its words are found at once.
SETTLE_S: Final = 15.0


def step(claim: Claim, request: GrowConversations, ports: ConversationPorts) -> Sequence[Bell]:
    """Grow sessions, and ask for an update of the ranks and for the vectors of the passages that are new."""
    collection, version = request.collection, version_of(claim)

    def store(updates: Sequence[SessionUpdate]) -> list[LoadedDocument]:
        return grow_sessions(collection, updates, version, ports)

    loaded = load_slices(claim, request.updates, Loading(id_of, chars_of, store), ports)
    if loaded is None:
        return []
    passages = {update.session_id: chars_of(update) // EMBEDDED_CHARS + 1 for update in request.updates}
    return hand_in_loaded(claim, request, loaded, passages, ENDING, ports, settle_s=SETTLE_S)


def grow_sessions(
    collection: str, updates: Sequence[SessionUpdate], version: Version, ports: ConversationPorts
) -> list[LoadedDocument]:
    """Add updates to their sessions in one change, as far as they are to stand."""
    subjects = [Subject(update.session_id) for update in updates]
    with ports.ledger.changing(collection, KIND, subjects, version, whole=False) as standings:
        changes = apply_updates(collection, updates, version, standings, ports)
    return [
        LoadedDocument.model_validate({"document": id_, "outcome": changes[id_].outcome, "total": changes[id_].total})
        for id_ in map(id_of, updates)
    ]


def id_of(update: SessionUpdate) -> str:
    """Return a session's id."""
    return update.session_id


def chars_of(update: SessionUpdate) -> int:
    """Return the length of the new texts."""
    return sum(len(message.text) for message in update.messages)


ENDING: Final = ending_of(GrowConversationsResult)
