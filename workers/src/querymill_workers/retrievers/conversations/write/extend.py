"""Add messages to sessions, or replace them: each session as if it came alone, but many of them in one change."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.ingest import Extend, ExtendResult, IngestedDocument, SessionExtension
from querymill_shared.values import value
from querymill_workers.documents.late_writes import forgetting_vectors
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.ingesting import ending_of, ingest_slices
from querymill_workers.retrievers.conversations.entry import entry_of
from querymill_workers.retrievers.conversations.history import History, add_live, forget_before, session_of
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import KIND, StoredConversation
from querymill_workers.retrievers.conversations.write.ingest import (
    acceptance_of,
    ended,
    hand_in_sessions,
    too_late,
)
from querymill_workers.retrievers.conversations.write.live import add_messages
from querymill_workers.retrievers.conversations.write.store_sessions import Change, store_history
from querymill_workers.versions.ports import Standing, Version, WrittenDocument, version_of

#: Seconds that sessions wait for more before they are embedded, if several come together. Those that grow every second,
#: as a follower sends them, would have their last passages embedded every second. Their words are found at once.
SETTLE_S: Final = 15.0


def step(claim: Claim, request: Extend, ports: ConversationPorts) -> Sequence[Bell]:
    """Extend sessions, and ask for an update of the ranks and for the vectors of the passages that are new."""
    collection, version = request.collection, version_of(claim)

    def store(extensions: Sequence[SessionExtension]) -> list[IngestedDocument]:
        return extend_sessions(collection, extensions, version, ports)

    ingested = ingest_slices(claim, request.documents, store, ports)
    if ingested is None:
        return []
    settle_s = SETTLE_S if len(request.documents) > 1 else 0.0
    return hand_in_sessions(claim, request, ingested, ENDING, ports, settle_s=settle_s)


def extend_sessions(
    collection: str, extensions: Sequence[SessionExtension], version: Version, ports: ConversationPorts
) -> list[IngestedDocument]:
    """Extend sessions in one change, as far as the extensions are to stand."""
    subjects = [WrittenDocument(extension.session_id) for extension in extensions]
    with ports.versions.changing(collection, KIND, subjects, version, whole=False) as standings:
        changes = apply_extensions(collection, extensions, version, standings, ports)
    return [ended(extension.session_id, changes[extension.session_id]) for extension in extensions]


def apply_extensions(
    collection: str,
    updates: Sequence[SessionExtension],
    version: Version,
    standings: Mapping[str, Standing],
    ports: ConversationPorts,
) -> dict[str, Change]:
    """Add updates to their sessions, as far as they are to stand, within a change of these sessions.

    Raises:
        Refused: A session would have too many messages.
    """
    kept_out = {
        update.session_id: change
        for update in updates
        if (change := keep_out(collection, update, standings[update.session_id], ports)) is not None
    }
    others = [update for update in updates if update.session_id not in kept_out]
    return kept_out | add_messages(collection, others, acceptance_of(version), ports)


def keep_out(collection: str, update: SessionExtension, standing: Standing, ports: ConversationPorts) -> Change | None:
    """Say what becomes of an update that was forgotten or replaced since it was accepted; None of any other."""
    late = late_update_of(collection, update, standing, ports)
    if late is not None:
        return drop_late_update(collection, update, standing, late, ports)
    if standing.newest:
        return None
    known = ports.conversations.stored(collection, update.session_id)
    return Change(too_late(standing), len(known.session.messages) if known else 0)


@value
class LateUpdate:
    """An update that comes after its session was forgotten by a filter.

    ``since`` is when that was, and ``known`` and ``history`` are the session without and with the update. ``alone``
    tells whether the update passes the filter without what is stored of the session.
    """

    since: Version
    known: StoredConversation | None
    history: History
    alone: bool


def late_update_of(
    collection: str, update: SessionExtension, standing: Standing, ports: ConversationPorts
) -> LateUpdate | None:
    """Return what is to be dropped if an update makes the session one that a filter has forgotten since, or None."""
    if not standing.newest or not standing.filters:
        return None
    known = ports.conversations.stored(collection, update.session_id)
    before = known.history if known else History()
    history, alone = (add_live(each, update, acceptance_of(standing.version)) for each in (before, History()))
    since = _barred_by(update.session_id, history, standing)
    if since is None:
        return None
    return LateUpdate(since, known, history, _barred_by(update.session_id, alone, standing) is not None)


def _barred_by(session_id: str, history: History, standing: Standing) -> Version | None:
    session = session_of(session_id, history)
    return None if session is None else standing.barred_by(entry_of(session))


def drop_late_update(
    collection: str, update: SessionExtension, standing: Standing, late: LateUpdate, ports: ConversationPorts
) -> Change:
    """Forget what was accepted of a session before the filter was forgotten that it passes with an update."""
    written = standing.version if late.alone or standing.known is None else standing.known
    ports.versions.leave_tombstone(collection, KIND, update.session_id, written=written, parts=late.since)
    left = forget_before(late.history, acceptance_of(late.since))
    with forgetting_vectors(collection, update.session_id, KIND, ports):
        change = store_history(collection, update.session_id, late.known, left, ports)
    return Change("forgotten", change.total)


ENDING: Final = ending_of(ExtendResult)
