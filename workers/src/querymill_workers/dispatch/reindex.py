"""Rebuild the text index of a collection from the stored texts, after the tokeniser changed.

The new index is built next to the old one and activated when it is complete. Documents ingested until then go to the
new one. If a worker is killed, the next attempt skips the texts that are already indexed.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, assert_never

from pydantic import Field

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reindex import IndexedKind, Reindex, ReindexResult
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in, one_step
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from querymill_workers.retrievers.conversations.write import reindex as conversations
from querymill_workers.retrievers.files import reindex as files
from querymill_workers.retrievers.messages import reindex as messages
from querymill_workers.retrievers.modules import reindex as modules
from querymill_workers.retrievers.reports import reindex as reports
from querymill_workers.text.words import WORDS_CHANGES, WORDS_VERSION
from querymill_workers.vectors.embedding import submit_what_lacks
from querymill_workers.words.ports import Space


class ReindexNotes(Notes):
    """What a rebuild leaves on the board: ``total`` counts the texts whose words were indexed."""

    outcome: Literal["reindexed", "fresh"]
    total: int
    pending: int = 0
    previous: dict[str, int] = Field(default_factory=dict)


def step(claim: Claim, request: Reindex, ports: Ports) -> Sequence[Bell]:
    """Rebuild the text indexes that are stale, and have them searched. Passages without a vector get a job."""
    collection = request.collection
    stale = [space for space in spaces_of(request.of) if ports.words.stale(collection, space)]
    previous = {
        space: versions[-1] for space in stale if (versions := ports.words.previous_versions(collection, space))
    }
    total = 0
    for done, of_all, texts in reindex(request, ports) if stale else ():
        total += texts
        if not ports.board.append_event(claim.job_id, Progress(stage=claim.step, done=done, total=of_all)):
            return []  # cancelled; the next attempt skips the entries that are there
    for space in stale:
        ports.words.publish(collection, space)
    outcome: Literal["reindexed", "fresh"] = "reindexed" if stale else "fresh"
    pending, bells = 0, list[Bell]()
    if request.of == "conversations":
        bells += submit_what_lacks(EMBEDDABLE, collection, ports, token=claim.job_id)
        pending = ports.vectors["conversations"].counts(collection, model=ports.embeddings.model).pending
    notes = ReindexNotes(outcome=outcome, total=total, pending=pending, previous=previous)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def spaces_of(kind: IndexedKind) -> Sequence[Space]:
    """Return the text indexes of a kind."""
    match kind:
        case "messages":
            return messages.SPACES
        case "modules":
            return modules.SPACES
        case "conversations":
            return conversations.SPACES
        case "files":
            return files.SPACES
        case "reports":
            return reports.SPACES
        case _:
            assert_never(kind)


def reindex(request: Reindex, ports: Ports) -> Iterator[tuple[int, int, int]]:
    """Index all stored documents, some at a time. Yield the documents done, their total, and the texts just indexed."""
    match request.of:
        case "messages":
            return messages.reindexed(request.collection, ports)
        case "modules":
            return modules.reindexed(request.collection, ports)
        case "conversations":
            return conversations.reindexed(request.collection, ports)
        case "files":
            return files.reindexed(request.collection, ports)
        case "reports":
            return reports.reindexed(request.collection, ports)
        case _:
            assert_never(request.of)


def to_result(request: Reindex, picture: Picture, notes: ReindexNotes) -> ReindexResult:
    """Build the result of a rebuild."""
    return ReindexResult(
        job_id=picture.record.job_id,
        of=request.of,
        complete=True,
        outcome=notes.outcome,
        total=notes.total,
        pending=notes.pending,
        previous=notes.previous,
        version=WORDS_VERSION,
        changes=WORDS_CHANGES if notes.previous else "",
    )


ENDING: Final = Ending(ReindexNotes, to_result)


def flow_of(request: Reindex) -> Flow[Ports]:
    """Return the flow of a request."""
    return one_step(request, step, ENDING)
