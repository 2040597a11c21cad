"""Ingesting notes: their words first, so that a note that is stored is found."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.ingest import IngestedDocument
from querymill_shared.contracts.notes.ingest import IngestNotes, IngestNotesResult, Note
from querymill_workers.jobs import ingesting
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.ingesting import ending_of, ingest_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.retrievers.notes.ports import SPACE, NotePorts
from querymill_workers.words.ports import WordUnit


def step(claim: Claim, request: IngestNotes, ports: NotePorts) -> Sequence[Bell]:
    """Store notes and their words; the same note again changes nothing."""
    collection = request.collection

    def store(notes: Sequence[Note]) -> list[IngestedDocument]:
        ports.words.put(collection, SPACE, [WordUnit(note.note_id, note.text) for note in notes])
        for note in notes:
            ports.notes.put(collection, note)
        return [IngestedDocument(document=note.note_id, outcome="ingested", total=1) for note in notes]

    ingested = ingest_slices(claim, request.documents, store, ports)
    if ingested is not None:
        ports.board.add_collections("notes", [collection])
        hand_in(claim, request, ingesting.IngestNotes(documents=tuple(ingested)), ENDING, ports)
    return []


ENDING: Final = ending_of(IngestNotesResult)
