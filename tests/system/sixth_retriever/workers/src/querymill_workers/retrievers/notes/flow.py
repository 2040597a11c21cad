"""Which flow serves which request of `notes`."""

from typing import assert_never

from querymill_shared.contracts.notes import NoteRequest
from querymill_shared.contracts.notes.ingest import IngestNotes
from querymill_shared.contracts.notes.search import NoteSearch
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.notes import ingest, search
from querymill_workers.retrievers.notes.ports import NotePorts


def flow_of(request: NoteRequest) -> Flow[NotePorts]:
    """Choose the flow of a request."""
    match request:
        case NoteSearch():
            return one_step(request, search.step, search.ENDING)
        case IngestNotes():
            return one_step(request, ingest.step, ingest.ENDING)
        case _:
            assert_never(request)
