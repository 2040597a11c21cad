"""Embedding the chunks of files. The files are already stored and searchable by words, names and patterns.

If the job is killed, the next attempt resumes: it embeds the chunks that are still pending.
"""

from collections.abc import Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import EmbedFiles, EmbedFilesResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.files.notes import EmbedNotes
from querymill_workers.retrievers.files.ports import FilePorts, PendingChunk
from querymill_workers.retrievers.files.rules.chunking import embedded_text

#: Texts embedded between two checks that the job has not been cancelled. Each may be as long as the model's input, and
#: several jobs embed at once: a small server on few cores must answer before the call times out.
SLICE = 4
#: Pending chunks listed at a time.
LISTED = 512


def step(claim: Claim, request: EmbedFiles, ports: FilePorts) -> Sequence[Bell]:
    """Embed pending chunks and store their vectors until none is pending."""
    collection, model = request.collection, ports.embeddings.model
    paths = request.paths or None
    usage, done = Usage(), 0
    while pending := ports.files.pending(collection, model=model, limit=LISTED, paths=paths):
        for start in range(0, len(pending), SLICE):
            chunks = pending[start : start + SLICE]
            usage += embed(chunks, request, ports)
            done += len(chunks)
            progress = Progress(stage=claim.step, done=done, total=done + len(pending) - start - len(chunks))
            if not ports.board.tell(claim.job_id, progress):
                return []  # cancelled; the vectors so far stay
    lacking = ports.files.counts(collection, model=model).pending
    hand_in(claim, request, EmbedNotes(total=done, pending=lacking, usage=usage.noted()), ENDING, ports)
    return []


def embed(chunks: Sequence[PendingChunk], request: EmbedFiles, ports: FilePorts) -> Usage:
    """Embed chunks and store their vectors; return the calls and tokens used."""
    texts = [embedded_text(pending.path, pending.chunk) for pending in chunks]
    caller = Caller(request.collection, request.lane)
    vectors, spent = ports.embeddings.embed(texts, input_type="passage", caller=caller)
    ports.files.fill(request.collection, chunks, vectors, model=ports.embeddings.model)
    return spent


def embed_soon(collection: str, paths: Sequence[str], ports: FilePorts, *, after: str) -> Sequence[Bell]:
    """Submit a job that embeds pending chunks, at most once for the job ``after``; return its bells.

    The job covers the files at ``paths``, or the whole collection if there are none.
    """
    if not ports.files.pending(collection, model=ports.embeddings.model, limit=1, paths=paths or None):
        return []
    request = EmbedFiles(collection=collection, paths=tuple(paths))
    job_id, is_new = ports.board.submit(request, idempotency_key=f"vectors after {after}")
    (only,) = request.steps
    return [Bell(job_id, only, request.queue_of(only))] if is_new else []


def to_result(request: EmbedFiles, picture: Picture, notes: EmbedNotes) -> EmbedFilesResult:
    """Report how many chunks were embedded."""
    return EmbedFilesResult(
        job_id=picture.record.job_id,
        complete=True,
        collection=request.collection,
        total=notes.total,
        pending=notes.pending,
        usage=notes.usage,
    )


ENDING = Ending(EmbedNotes, to_result)
