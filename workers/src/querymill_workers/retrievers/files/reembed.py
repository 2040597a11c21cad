"""Embed a code base with another model, beside the vectors that searches compare, then switch to it at once.

A code base without vectors gets its first ones in the same way.

If the job is killed, the next attempt resumes: chunks that have their vector are skipped.
"""

from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.reembed import ReembedFiles, ReembedFilesResult
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Conflict, Mistaken, NotFound
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.files.embed import ask_for_vectors, embed_pending, switch_if_complete
from querymill_workers.retrievers.files.ports import KIND, FilePorts


class ReembedNotes(Notes):
    """How many vectors the job made, and with how many provider calls and tokens."""

    embedded: int
    usage: dict[str, int]


def step(claim: Claim, request: ReembedFiles, ports: FilePorts) -> None:
    """Embed all chunks that have no vector of the model, also those that its provider refused before, and switch.

    Raises:
        Mistaken: The workers use another model.
        NotFound: The collection has no files.
        Conflict: Files were ingested meanwhile; their chunks are embedded by the next attempt.
    """
    collection, model = request.collection, ports.embeddings
    if request.model != model.model:
        raise Mistaken(f"model: must be the workers' embedding model {model.model!r} (got {request.model!r})")
    total = ports.files.counts(collection, model=model.model).chunks
    if total == 0:
        raise NotFound(f"collection: no files in {collection!r}")
    ask_for_vectors(collection, ports)
    if claim.attempt == 1:
        ports.set_aside.drop(collection, KIND, None, model=model.model)
        ports.files.retry(collection, model=model.model)
    usage, embedded = Usage(), 0
    for made, spent, _ in embed_pending(collection, model, None, Caller.of(claim, request, ports), ports):
        usage, embedded = usage + spent, embedded + made
        pending = ports.files.counts(collection, model=model.model).pending
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=total - pending, total=total)):
            return  # cancelled; the vectors so far stay
    if not switch_if_complete(collection, model.model, ports):
        raise Conflict("files were ingested while the code base was embedded")
    hand_in(claim, request, ReembedNotes(embedded=embedded, usage=usage.noted()), ENDING, ports)


def to_result(request: ReembedFiles, picture: Picture, notes: ReembedNotes) -> ReembedFilesResult:
    """Build the result."""
    return ReembedFilesResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        model=request.model,
        total=notes.embedded,
        complete=True,
        usage=notes.usage,
    )


ENDING: Final = Ending(ReembedNotes, to_result)
