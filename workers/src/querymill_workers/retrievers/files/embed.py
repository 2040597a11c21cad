"""Embedding the chunks of files. The files are already stored and searchable by words, names and patterns.

If the job is killed, the next attempt resumes: it embeds the chunks that are still pending.
"""

from collections.abc import Iterator, Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import EmbedFiles, EmbedFilesResult
from querymill_workers.inference.ports import Embeddings
from querymill_workers.inference.refusals import Refusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.ledger.ports import Subject
from querymill_workers.retrievers.files.notes import EmbedNotes
from querymill_workers.retrievers.files.ports import KIND, NO_VERSION, FilePorts, PendingChunk
from querymill_workers.retrievers.files.rules.chunking import embedded_text
from querymill_workers.set_aside.ports import AsideText

#: Texts embedded between two checks that the job has not been cancelled. Each may be as long as the model's input, and
#: several jobs embed at once: a small server on few cores must answer before the call times out.
SLICE = 4
#: Pending chunks listed at a time.
LISTED = 512


def step(claim: Claim, request: EmbedFiles, ports: FilePorts) -> Sequence[Bell]:
    """Embed pending chunks until none is pending; then searches compare the workers' own model."""
    collection, own = request.collection, ports.embeddings
    if ports.files.pending(collection, model=own.model, limit=1):  # else it may have been dropped since
        ask_for_vectors(collection, ports)
    usage, done = Usage(), 0
    for model in models_to_embed_with(collection, ports):
        for made, spent, left in embed_pending(
            collection, model, request.paths or None, Caller.of(claim, request, ports), ports
        ):
            usage, done = usage + spent, done + made
            if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=done + left)):
                return []  # cancelled; the vectors so far stay
    if has_vectors(collection, ports):
        switch_if_complete(collection, own.model, ports)
    lacking = ports.files.counts(collection, model=own.model).pending
    hand_in(claim, request, EmbedNotes(total=done, pending=lacking, usage=usage.noted()), ENDING, ports)
    return []


def has_vectors(collection: str, ports: FilePorts) -> bool:
    """Return whether vectors were ever asked for. The model that searches compare is stored then, and only then."""
    return ports.files.searched_by(collection) is not None


def ask_for_vectors(collection: str, ports: FilePorts) -> bool:
    """Have the files of a collection embedded from now on. Return whether this is the first time that it is asked."""
    is_first = not has_vectors(collection, ports)
    ports.files.searched_by(collection, first=ports.embeddings.model)
    return is_first


def count_pending(collection: str, ports: FilePorts) -> int:
    """Count the chunks that wait for a vector; none does in a collection without vectors."""
    return ports.files.counts(collection, model=ports.embeddings.model).pending if has_vectors(collection, ports) else 0


def models_to_embed_with(collection: str, ports: FilePorts) -> Sequence[Embeddings]:
    """Return the models that embed files: the workers' own, then the previous one while searches still compare it."""
    searched_by = ports.files.searched_by(collection)
    if ports.former is None or searched_by in (ports.embeddings.model, None):
        return [ports.embeddings]
    return [ports.embeddings] + ([ports.former.embeddings] if searched_by == ports.former.embeddings.model else [])


def model_to_compare(collection: str, ports: FilePorts) -> Embeddings:
    """Return the model that a question is embedded by.

    Raises:
        Refused: Searches still compare the vectors of a model that the workers cannot reach any more.
    """
    searched_by = ports.files.searched_by(collection)
    if searched_by in (None, ports.embeddings.model):
        return ports.embeddings
    if ports.former is not None and searched_by == ports.former.embeddings.model:
        return ports.former.embeddings
    raise Refused(f"the vectors are of the model {searched_by!r}: run `querymill reembed files` for this collection")


def embed_pending(
    collection: str, model: Embeddings, paths: Sequence[str] | None, caller: Caller, ports: FilePorts
) -> Iterator[tuple[int, Usage, int]]:
    """Embed the pending chunks of files, or of all, some at a time.

    Yields:
        After each call how many chunks were embedded, the usage, and how many of those listed are left.
    """
    while listed := ports.files.pending(collection, model=model.model, limit=LISTED, paths=paths):
        for start in range(0, len(listed), SLICE):
            # Read again: of a file that was dropped or changed meanwhile, nothing is sent to the provider any more.
            chunks = ports.files.still_pending(collection, listed[start : start + SLICE], model=model.model)
            usage = embed(collection, chunks, model, caller, ports) if chunks else Usage()
            yield len(chunks), usage, max(len(listed) - start - SLICE, 0)


def embed(
    collection: str, chunks: Sequence[PendingChunk], model: Embeddings, caller: Caller, ports: FilePorts
) -> Usage:
    """Embed chunks and store their vectors; set aside those that the provider refuses. Return the calls and tokens."""
    texts = [embedded_text(pending.path, pending.chunk) for pending in chunks]
    embedded, usage = embed_each(texts, model, input_type="passage", caller=caller)
    vectors = [None if isinstance(result, Refusal) else result for result in embedded]
    refused = [
        AsideText(chunk.path, chunk.key, model.model, result.reason)
        for chunk, result in zip(chunks, embedded, strict=True)
        if isinstance(result, Refusal)
    ]
    if not refused:
        ports.files.fill(collection, chunks, vectors, model=model.model)
        return usage
    subjects = [Subject(path) for path in {text.document for text in refused}]
    with ports.ledger.changing(collection, KIND, subjects, NO_VERSION, whole=False):
        left = {(chunk.path, chunk.key) for chunk in ports.files.still_pending(collection, chunks, model=model.model)}
        ports.files.fill(collection, chunks, vectors, model=model.model)
        ports.set_aside.add(collection, KIND, [text for text in refused if (text.document, text.passage) in left])
    return usage


def switch_if_complete(collection: str, model: str, ports: FilePorts) -> bool:
    """Have searches compare a model once no chunk waits for a vector of it, and drop the vectors of others."""
    if ports.files.searched_by(collection) != model and not ports.files.switch(collection, model=model):
        return False
    ports.files.drop_other_models(collection, model=model)
    return True


def embed_soon(collection: str, paths: Sequence[str], ports: FilePorts, *, after: str) -> Sequence[Bell]:
    """Submit a job that embeds pending chunks, at most once for the job ``after``; return its bells.

    The job covers the files at ``paths``, or the whole collection if there are none. In a collection without vectors
    no chunk is pending.
    """
    if not has_vectors(collection, ports):
        return []
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
