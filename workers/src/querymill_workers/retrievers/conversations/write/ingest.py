"""Ingest whole sessions and live messages, and drop sessions.

Only one writer at a time changes a session: it reads the history of the session, adds its write in the order of
acceptance, and writes the index entry and the rows before the next writer reads. Entry, rows and version are committed
together, so a search that sees the new generation finds all of it, and a killed worker leaves nothing. Ranks are
updated and vectors are made in the background.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.conversations.ingest import (
    DropConversation,
    IngestConversation,
    IngestConversationResult,
    Outcome,
    SessionUpdate,
    UpdateConversation,
)
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.values import value
from querymill_workers.documents.affected_jobs import Forgotten
from querymill_workers.documents.cleaning import clean
from querymill_workers.documents.late_writes import bury_replaced, forgetting_vectors
from querymill_workers.documents.texts import forgotten_texts
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common
from querymill_workers.ledger.ports import Standing, Subject, Version, version_of
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from querymill_workers.retrievers.conversations.history import (
    Acceptance,
    History,
    add_live,
    forget_before,
    put_whole,
    session_of,
)
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import (
    KIND,
    StoredConversation,
    conversation_of,
    filterable,
)
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.write.follow_up import update_soon, update_what_waits
from querymill_workers.retrievers.conversations.write.live import add_messages
from querymill_workers.retrievers.conversations.write.store_sessions import Change, store_history
from querymill_workers.vectors.embedding import submit_embedding

#: Filters see nothing of ranks.
NO_PARTS: Final = RankParts(base=0, depth=0, reference=0, quality=0)
#: The requests that change one session.
SessionChange = IngestConversation | UpdateConversation | DropConversation


class ChangeNotes(Notes):
    """The outcome for a session; ``total`` counts its messages after the change."""

    session_id: str
    outcome: Outcome
    total: int
    embedding_job: str | None = None


def step(claim: Claim, request: IngestConversation, ports: ConversationPorts) -> Sequence[Bell]:
    """Ingest one whole session. Ingesting the same content again changes nothing."""
    collection, session, version = request.collection, request.session, version_of(claim)
    with ports.ledger.changing(collection, KIND, [subject_of(session)], version) as standings:
        bury_replaced(collection, KIND, standings, ports)
        standing = standings[session.session_id]
        known = ports.conversations.stored(collection, session.session_id)
        if standing.newest:
            history = put_whole(known.history if known else History(), session, acceptance_of(version))
            change = store_history(collection, session.session_id, known, history, ports)
        else:
            change = Change(too_late(standing), len(known.session.messages) if known else 0)
    return hand_in(claim, request, session.session_id, change, ports)


def update(claim: Claim, request: UpdateConversation, ports: ConversationPorts) -> Sequence[Bell]:
    """Add messages to a session, and replace its messages that have the same ids."""
    collection, session_id, version = request.collection, request.update.session_id, version_of(claim)
    with ports.ledger.changing(collection, KIND, [Subject(session_id)], version, whole=False) as standings:
        changes = apply_updates(collection, [request.update], version, standings, ports)
    return hand_in(claim, request, session_id, changes[session_id], ports)


def apply_updates(
    collection: str,
    updates: Sequence[SessionUpdate],
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


def keep_out(collection: str, update: SessionUpdate, standing: Standing, ports: ConversationPorts) -> Change | None:
    """Say what becomes of an update that was forgotten or replaced since it was accepted; None of any other."""
    buried = buried_with(collection, update, standing, ports)
    if buried is not None:
        return bury_update(collection, update, standing, buried, ports)
    if standing.newest:
        return None
    known = ports.conversations.stored(collection, update.session_id)
    return Change(too_late(standing), len(known.session.messages) if known else 0)


@value
class Buried:
    """An update that comes after its session was forgotten by a filter.

    ``since`` is when that was, and ``known`` and ``history`` are the session without and with the update. ``alone``
    tells whether the update passes the filter without what is stored of the session.
    """

    since: Version
    known: StoredConversation | None
    history: History
    alone: bool


def buried_with(collection: str, update: SessionUpdate, standing: Standing, ports: ConversationPorts) -> Buried | None:
    """Return what is to be buried if an update makes the session one that a filter has forgotten since, or None."""
    if not standing.newest or not standing.filters:
        return None
    known = ports.conversations.stored(collection, update.session_id)
    before = known.history if known else History()
    history, alone = (add_live(each, update, acceptance_of(standing.version)) for each in (before, History()))
    since = _buried_as(update.session_id, history, standing)
    if since is None:
        return None
    return Buried(since, known, history, _buried_as(update.session_id, alone, standing) is not None)


def _buried_as(session_id: str, history: History, standing: Standing) -> Version | None:
    session = session_of(session_id, history)
    return None if session is None else standing.buried_as(subject_of(session))


def bury_update(
    collection: str, update: SessionUpdate, standing: Standing, buried: Buried, ports: ConversationPorts
) -> Change:
    """Forget what was accepted of a session before the filter was forgotten that it passes with an update."""
    written = standing.version if buried.alone or standing.known is None else standing.known
    ports.ledger.bury(collection, KIND, update.session_id, written=written, parts=buried.since)
    left = forget_before(buried.history, acceptance_of(buried.since))
    with forgetting_vectors(collection, update.session_id, KIND, ports):
        change = store_history(collection, update.session_id, buried.known, left, ports)
    return Change("forgotten", change.total)


def drop(claim: Claim, request: DropConversation, ports: ConversationPorts) -> Sequence[Bell]:
    """Drop a session. What was accepted after the drop stays."""
    collection, session_id, version = request.collection, request.session_id, version_of(claim)
    texts = forgotten_texts(claim, ports)
    with ports.ledger.dropping(collection, KIND, session_id, version) as standing:
        known = ports.conversations.stored(collection, session_id)
        change = Change("unchanged", 0)
        if known is not None and standing.newest:
            with forgetting_vectors(collection, session_id, KIND, ports, texts):
                left = forget_before(known.history, acceptance_of(version))
                change = store_history(collection, session_id, known, left, ports)
            change = Change("dropped", change.total) if change.outcome != "unchanged" else change
    if standing.newest:
        clean(claim, Forgotten(KIND, {session_id}, {}, texts=texts), ports)
        ports.samples.renew_soon()
    return hand_in(claim, request, session_id, change, ports)


def conclude(picture: Picture, request: SessionChange, ports: Common) -> None:
    """Settle the job with the outcome for the session."""
    one_step.conclude(picture, request, ENDING, ports)


def subject_of(session: ChatSession) -> Subject:
    """Return what filters see of a whole session."""
    seen = filterable(conversation_of(session, NO_PARTS))
    return Subject(session.session_id, seen.fields, seen.metadata)


def acceptance_of(version: Version) -> Acceptance:
    """Return a version as the rules order by it."""
    return version.accepted_us, version.job_id


def too_late(standing: Standing) -> Outcome:
    """Say why a write counts no longer: the session was forgotten since, or replaced as a whole."""
    return "forgotten" if standing.forgotten else "superseded"


def hand_in(
    claim: Claim, request: SessionChange, session_id: str, change: Change, ports: ConversationPorts
) -> Sequence[Bell]:
    """Announce the collection, ask for an update of its ranks and for missing vectors, and finish the job."""
    collection, changed = request.collection, change.outcome in ("ingested", "dropped")
    if not isinstance(request, DropConversation):
        # Even if nothing changed: an earlier attempt may have been killed right after it stored the session.
        ports.board.add_collections(KIND, [collection])
    bells = update_soon(collection, ports) if changed else update_what_waits(collection, ports)
    jobs, rung = submit_embedding(EMBEDDABLE, collection, {session_id: 1}, ports, lane=request.lane, token=claim.job_id)
    notes = ChangeNotes(
        session_id=session_id, outcome=change.outcome, total=change.total, embedding_job=jobs[0] if jobs else None
    )
    one_step.hand_in(claim, request, notes, ENDING, ports)
    return [*bells, *rung]


def to_result(request: SessionChange, picture: Picture, notes: ChangeNotes) -> IngestConversationResult:
    """Build the result from the outcome."""
    return IngestConversationResult(
        job_id=picture.record.job_id, kind=request.kind, complete=True, session_id=notes.session_id,
        outcome=notes.outcome, total=notes.total, embedding_job=notes.embedding_job,
    )  # fmt: skip


#: How each of these jobs ends.
ENDING: Final = Ending(ChangeNotes, to_result)
