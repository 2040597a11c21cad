"""Taking a report in: chunk it, embed what is not embedded yet, make it searchable whole and at once.

Killed anywhere, the next attempt goes on where this one was: stored passages are never embedded again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reports import IngestReport, IngestResult, Report
from querymill_workers.domain.chunking import CHUNKING_VERSION, PageText, chunk_pages
from querymill_workers.ports import Bell, Caller, Ports, Revision, Usage

#: Texts per embedding call: small enough that a question waits little behind one on a shared server.
BATCH = 8


def step(claim: Claim, request: IngestReport, ports: Ports) -> Sequence[Bell]:
    """Ingest one report; the same content with the same model changes nothing."""
    report, collection = request.report, request.collection
    revision = revision_of(report, ports.embeddings.model)
    if ports.reports.revision(collection, report.sha1) == revision:
        return handed_in(claim, {"outcome": "unchanged", "passages": 0}, ports)
    chunks = chunk_pages([PageText(page.page, page.text) for page in report.pages], count_tokens=ports.count_tokens)
    stored = ports.reports.drafted(collection, report.sha1, revision)
    missing = [chunk for chunk in chunks if chunk.number not in stored]
    usage = Usage()
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        vectors, spent = ports.embeddings.embed(
            [chunk.text for chunk in batch], input_type="passage", caller=Caller(collection, request.lane)
        )
        ports.reports.draft(collection, report.sha1, revision, batch, vectors)
        usage += spent
        stored.update(chunk.number for chunk in batch)
        progress = Progress(stage=claim.step, done=len(stored), total=len(chunks))
        if not ports.board.tell(claim.job_id, progress):
            return []  # cancelled; what is stored waits for the next attempt
    ports.reports.publish(collection, report, revision, model=ports.embeddings.model, chunks=len(chunks))
    ports.board.add_collections("reports", [collection])
    notes = {
        "outcome": "ingested",
        "passages": len(chunks),
        "provider_calls": usage.calls,
        "tokens": usage.tokens,
    }
    return handed_in(claim, notes, ports)


def revision_of(report: Report, model: str) -> Revision:
    """Hash the content together with what shapes passages and vectors."""
    shaped = f"{CHUNKING_VERSION}\n{model}\n{report.model_dump_json()}"
    return Revision(hashlib.sha256(shaped.encode()).hexdigest())


def handed_in(claim: Claim, notes: Mapping[str, Any], ports: Ports) -> Sequence[Bell]:
    """Close the step on the board and settle the job."""
    picture = ports.board.finish(claim, Outcome(notes=notes))
    if picture is not None and isinstance(picture.request, IngestReport):
        conclude(picture, picture.request, ports)
    return []


def conclude(picture: Picture, request: IngestReport, ports: Ports) -> None:
    """Settle: the report is in, or the job fails with its reason (dead when its workers kept dying)."""
    (ingest,) = picture.steps
    if not ingest.is_closed:
        return
    if ingest.state == "failed":
        verdict = Verdict("dead" if ingest.notes.get("dead") else "failed", reason=ingest.reason)
    else:
        verdict = Verdict("done", result=result(picture, request, ingest.notes).model_dump_json())
    ports.board.settle(picture.record.job_id, verdict)


def result(picture: Picture, request: IngestReport, notes: Mapping[str, Any]) -> IngestResult:
    """Say what ingestion did."""
    return IngestResult(
        job_id=picture.record.job_id,
        total=notes["passages"],
        complete=True,
        document=request.report.sha1,
        outcome=notes["outcome"],
        usage={name: notes.get(name, 0) for name in ("provider_calls", "tokens")},
    )
