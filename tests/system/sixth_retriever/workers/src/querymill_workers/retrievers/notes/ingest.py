"""Ingesting a note: its words first, so that a note that is stored is found."""

from collections.abc import Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.notes.ingest import IngestNote, IngestNoteResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.notes.ports import SPACE, NotePorts
from querymill_workers.words.ports import WordUnit


def step(claim: Claim, request: IngestNote, ports: NotePorts) -> Sequence[Bell]:
    """Store a note and its words; the same note again changes nothing."""
    ports.words.put(request.collection, SPACE, [WordUnit(request.note.note_id, request.note.text)])
    ports.notes.put(request.collection, request.note)
    ports.board.add_collections("notes", [request.collection])
    hand_in(claim, request, Notes(), ENDING, ports)
    return []


def to_result(request: IngestNote, picture: Picture, _: Notes) -> IngestNoteResult:
    """Say what was stored."""
    return IngestNoteResult(job_id=picture.record.job_id, total=1, complete=True, note_id=request.note.note_id)


ENDING = Ending(Notes, to_result)
