"""Keep ranks fresh: update changed sessions soon, and rebuild everything daily and on demand.

At most one update waits per collection, however many sessions are ingested: its key is the number of updates so far.
Many workers compute the parts of a rebuild, and the worker that stores the last part activates the rebuild.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.conversations.ranks import RanksResult, RecomputeRanks
from querymill_workers.jobs import one_step, verdicts
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import NotFound
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from querymill_workers.retrievers.conversations.ports import ConversationPorts, RankPorts
from querymill_workers.retrievers.conversations.ports.ranks import ConversationRanks, Published, Underway
from querymill_workers.retrievers.conversations.ports.sessions import Conversations
from querymill_workers.retrievers.conversations.ranks.update import update
from querymill_workers.retrievers.conversations.rules.reference_search import ReferenceSearch
from querymill_workers.retrievers.conversations.rules.session_facts import facts_version
from querymill_workers.retrievers.conversations.write.derived import facts_in
from querymill_workers.retrievers.conversations.write.follow_up import update_what_waits
from querymill_workers.vectors.embedding import submit_what_lacks

#: An update waits this long for further changes, in seconds.
DEBOUNCE_S = 1.0
#: A rebuild looks this often whether another one has ended, in seconds.
WAIT_S = 1.0
#: Sessions updated in one transaction, and sessions whose facts are extracted again in one.
UPDATED_AT_ONCE, FACTS_AT_ONCE = 50, 50


class UpdateNotes(Notes):
    """How many sessions were updated, and how many references changed."""

    sessions: int
    references: int


class RankPartNotes(Notes):
    """What a rebuild activated, noted by the part that did so. Other parts note nothing."""

    sessions: int = 0
    references: int = 0
    version: int | None = None


def step(claim: Claim, request: RecomputeRanks, ports: ConversationPorts) -> Sequence[Bell]:
    """Update the changed sessions, or compute one part of a rebuild."""
    if request.scope == "changed":
        return update_changed(claim, request, ports)
    return rebuild_part(claim, request, ports)


def update_changed(claim: Claim, request: RecomputeRanks, ports: RankPorts) -> Sequence[Bell]:
    """Update the references of every session that changed, after a wait for further changes."""
    if request.background and claim.counts.pauses == 0:
        ports.board.postpone(claim, delay_s=DEBOUNCE_S, reason="waiting for more changes", cause="pause")
        return []
    sessions, references = update_all(request.collection, ports.ranks)
    bells = update_what_waits(request.collection, ports)
    one_step.hand_in(claim, request, UpdateNotes(sessions=sessions, references=references), UPDATE_ENDING, ports)
    return bells


def update_all(collection: str, ranks: ConversationRanks) -> tuple[int, int]:
    """Update until no session waits; return how many sessions were updated and how many references changed."""
    sessions = references = 0
    while True:
        with ranks.graph(collection) as graph:
            changed = graph.changed(limit=UPDATED_AT_ONCE)
            for session_id in changed:
                references += update(graph, session_id)
            graph.mark_updated(changed)
        sessions += len(changed)
        if len(changed) < UPDATED_AT_ONCE:
            return sessions, references


def rebuild_part(claim: Claim, request: RecomputeRanks, ports: ConversationPorts) -> Sequence[Bell]:
    """Compute and store the references from one part of the sessions, and publish once all parts are stored.

    One rebuild of a collection runs at a time. A part of another waits.

    Raises:
        NotFound: The collection never held a session.
        Refused: Another rebuild has begun since.
    """
    refuse_unknown(request.collection, ports.conversations)
    collection, rebuild = request.collection, claim.job_id
    part = request.steps.index(claim.step)
    vocabulary = ports.technical_keywords
    find = partial(facts_in, vocabulary=vocabulary)
    while ports.ranks.find_facts(collection, facts_version(vocabulary), find, limit=FACTS_AT_ONCE):
        pass
    rung: Sequence[Bell] = []
    if part == 0:
        rung = submit_what_lacks(EMBEDDABLE, collection, ports, token=claim.job_id)
    done = begin(claim, request, ports)
    if done is None:
        return rung
    if part not in done:
        table = ports.ranks.table(collection)
        found = ReferenceSearch(table).find(table.part(part, parts=request.parts))
        ports.ranks.draft(collection, rebuild, part, found, table)
    published = ports.ranks.publish(collection, rebuild, parts=request.parts)
    outcome = Outcome() if published is None else Outcome(notes=part_notes(published).for_board())
    # Sessions that changed after the rebuild began are not in it; publishing it made them wait again.
    bells = [] if published is None else update_what_waits(collection, ports)
    picture = ports.board.finish(claim, outcome)
    if picture is not None:
        conclude(picture, request, ports)
    return [*bells, *rung]


def begin(claim: Claim, request: RecomputeRanks, ports: RankPorts) -> set[int] | None:
    """Begin the rebuild, or join its other parts, and return the parts that are stored already.

    While another rebuild runs, put the step back and return None. Otherwise the two would undo each other, and if
    rebuilds were asked for more often than one takes, none would be published.
    """
    over: set[str] = set()
    while True:
        try:
            return ports.ranks.begin(request.collection, claim.job_id, mode=request.mode, over=over)
        except Underway as other:
            if not ports.board.has_ended(other.rebuild):
                ports.board.postpone(claim, delay_s=WAIT_S, reason="waiting for another rebuild", cause="pause")
                return None
            over.add(other.rebuild)


def conclude(picture: Picture, request: RecomputeRanks, ports: Common) -> None:
    """Settle once all parts are closed. A rebuild is done if one of its parts activated it."""
    if request.scope == "changed":
        one_step.conclude(picture, request, UPDATE_ENDING, ports)
        return
    if not all(part.is_closed for part in picture.steps):
        return
    failed = [part for part in picture.steps if part.state == "failed"]
    published = [notes for notes in map(RankPartNotes.of, picture.steps) if notes.version is not None]
    if published:
        verdict = verdicts.done(to_result(request, picture, published[0]), picture)
    else:
        verdict = verdicts.lost(picture, failed[0].reason if failed else "another rebuild has begun since")
    ports.board.settle(picture.record.job_id, verdict)


def refuse_unknown(collection: str, conversations: Conversations) -> None:
    """Raise NotFound for a collection that never held a session."""
    if conversations.generation(collection) == 0:
        raise NotFound(f"collection: no conversations in {collection!r}")


def part_notes(published: Published) -> RankPartNotes:
    """Note what a rebuild activated."""
    return RankPartNotes(sessions=published.sessions, references=published.references, version=published.version)


def to_result(request: RecomputeRanks, picture: Picture, notes: UpdateNotes | RankPartNotes) -> RanksResult:
    """Build the result from the counts."""
    return RanksResult(
        job_id=picture.record.job_id,
        total=notes.sessions,
        complete=True,
        collection=request.collection,
        scope=request.scope,
        references=notes.references,
        version=notes.version if isinstance(notes, RankPartNotes) else None,
    )


#: How an update of the changed sessions ends.
UPDATE_ENDING: Final[Ending[RecomputeRanks, UpdateNotes]] = Ending(UpdateNotes, to_result)
