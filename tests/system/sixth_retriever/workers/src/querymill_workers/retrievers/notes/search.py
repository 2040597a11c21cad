"""`notes`: a question in, the notes that share its words out.

question -> best notes by BM25 -> their texts -> hits
"""

from collections.abc import Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.notes.search import NoteHit, NoteResult, NoteSearch
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.notes.ports import SPACE, NotePorts
from querymill_workers.text import bm25


class FoundNotes(StepNotes):
    """What a search leaves on the board."""

    hits: tuple[NoteHit, ...]


def step(claim: Claim, request: NoteSearch, ports: NotePorts) -> Sequence[Bell]:
    """Search, and hand the hits in."""
    hits = ports.words.search(request.collection, SPACE, request.query, limit=request.limit)
    texts = ports.notes.texts(request.collection, [hit.id for hit in hits])
    shown = tuple(
        NoteHit(
            note_id=hit.id,
            text=texts[hit.id],
            score=hit.score,
            explanation={} if hit.scored is None else bm25.explain(hit.scored),
        )
        for hit in hits
        if hit.id in texts
    )
    hand_in(claim, request, FoundNotes(hits=shown), ENDING, ports)
    return []


def to_result(request: NoteSearch, picture: Picture, found: FoundNotes) -> NoteResult:
    """Show the notes that were found."""
    return NoteResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=found.hits,
        total=len(found.hits),
        complete=True,
    )


ENDING = Ending(FoundNotes, to_result)
