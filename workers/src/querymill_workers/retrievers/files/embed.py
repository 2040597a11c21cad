"""Embedding the chunks of files, after the files were taken in and are found by all else.

Killed anywhere, the next attempt goes on where this one was: it takes what is pending still.
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

#: Texts embedded between two looks at whether the job still lives. Each is as long as the model reads, and several
#: jobs ask at once: a small server on few cores must answer before its call is given up.
SLICE = 4
#: Chunks listed at a time.
LISTED = 512


def step(claim: Claim, request: EmbedFiles, ports: FilePorts) -> Sequence[Bell]:
    """Embed what is pending, and store it, until nothing is."""
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
                return []  # cancelled; what is embedded stays
    lacking = ports.files.counts(collection, model=model).pending
    hand_in(claim, request, EmbedNotes(total=done, pending=lacking, usage=usage.noted()), ENDING, ports)
    return []


def embed(chunks: Sequence[PendingChunk], request: EmbedFiles, ports: FilePorts) -> Usage:
    """Embed chunks and store their vectors; return what it cost."""
    texts = [embedded_text(pending.path, pending.chunk) for pending in chunks]
    caller = Caller(request.collection, request.lane)
    vectors, spent = ports.embeddings.embed(texts, input_type="passage", caller=caller)
    ports.files.fill(request.collection, chunks, vectors, model=ports.embeddings.model)
    return spent


def embed_soon(collection: str, paths: Sequence[str], ports: FilePorts, *, after: str) -> Sequence[Bell]:
    """Ask for what is pending to be embedded (of all files without ``paths``), once ``after`` each job."""
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
