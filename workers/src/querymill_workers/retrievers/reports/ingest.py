"""Ingest a report: cut it into chunks, embed them, and make the whole report searchable at once.

If the worker is killed, the next attempt resumes: stored chunks are not embedded again.
"""

import hashlib
from typing import Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult, Report
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.reports.ports import ReportPorts
from querymill_workers.retrievers.reports.rules.chunking import CHUNKING_VERSION, PageText, chunk_pages

#: Chunks per embedding call. Small, so that a question waits only briefly behind a call on a shared server.
BATCH_CHUNKS = 8


class IngestNotes(Notes):
    """The notes of the step. The counts of its usage are fields of their own."""

    outcome: Literal["ingested", "unchanged"]
    passages: int = 0
    provider_calls: int = 0
    tokens: int = 0


def step(claim: Claim, request: IngestReport, ports: ReportPorts) -> None:
    """Ingest one report. Content that is stored already, with vectors of the same model, is left unchanged."""
    report, collection = request.report, request.collection
    revision = revision_of(report, ports.embeddings.model)
    if ports.reports.revision(collection, report.sha1) == revision:
        # The worker that published it may have been killed before it announced the collection.
        ports.board.add_collections("reports", [collection])
        hand_in(claim, request, IngestNotes(outcome="unchanged"), ENDING, ports)
        return
    chunks = chunk_pages([PageText(page.page, page.text) for page in report.pages], count_tokens=ports.count_tokens)
    stored = ports.reports.drafted(collection, report.sha1, revision)
    missing = [chunk for chunk in chunks if chunk.number not in stored]
    usage = Usage()
    for start in range(0, len(missing), BATCH_CHUNKS):
        batch = missing[start : start + BATCH_CHUNKS]
        vectors, spent = ports.embeddings.embed(
            [chunk.text for chunk in batch], input_type="passage", caller=Caller(collection, request.lane)
        )
        ports.reports.draft(collection, report.sha1, revision, batch, vectors)
        usage += spent
        stored.update(chunk.number for chunk in batch)
        progress = Progress(stage=claim.step, done=len(stored), total=len(chunks))
        if not ports.board.tell(claim.job_id, progress):
            return  # cancelled; the chunks so far stay stored
    ports.reports.publish(collection, report, revision, model=ports.embeddings.model, chunks=len(chunks))
    ports.board.add_collections("reports", [collection])
    notes = IngestNotes(outcome="ingested", passages=len(chunks), **usage.noted())
    hand_in(claim, request, notes, ENDING, ports)


def revision_of(report: Report, model: str) -> Revision:
    """Hash the content of a report together with everything that shapes its passages and vectors."""
    shaped = f"{CHUNKING_VERSION}\n{model}\n{report.model_dump_json()}"
    return Revision(hashlib.sha256(shaped.encode()).hexdigest())


def to_result(request: IngestReport, picture: Picture, notes: IngestNotes) -> IngestResult:
    """Build the result."""
    return IngestResult(
        job_id=picture.record.job_id,
        total=notes.passages,
        complete=True,
        document=request.report.sha1,
        outcome=notes.outcome,
        usage=Usage(notes.provider_calls, notes.tokens).noted(),
    )


ENDING: Final = Ending(IngestNotes, to_result)
