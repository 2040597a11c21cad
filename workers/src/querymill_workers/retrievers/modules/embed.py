"""Embed the descriptions of code documents. The documents are already stored, and found by modules and words.

If the job is killed, the next attempt resumes: it embeds the passages that are still pending.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.modules.embed import EmbedModules, EmbedModulesResult
from querymill_workers.inference.refusals import Refusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.ledger.ports import Subject
from querymill_workers.retrievers.modules.describe import DOCUMENTS_BATCH, describe
from querymill_workers.retrievers.modules.notes import EmbedNotes
from querymill_workers.retrievers.modules.ports import KIND, NO_VERSION, ModulePorts, PendingDescription
from querymill_workers.retrievers.modules.rules.documents import shown_id
from querymill_workers.set_aside.ports import AsideText

#: Passages embedded between two checks that the job has not been cancelled.
SLICE: Final = 16
#: Pending passages listed at a time.
LISTED: Final = 512


def step(claim: Claim, request: EmbedModules, ports: ModulePorts) -> None:
    """Embed pending descriptions until none is pending."""
    collection, model = request.collection, ports.embeddings.model
    describe_missing(collection, ports)
    usage, done = Usage(), 0
    for made, spent, left in embed_pending(collection, Caller.of(claim, request, ports), ports):
        usage, done = usage + spent, done + made
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=done + left)):
            return  # cancelled; the vectors so far stay
    pending = ports.descriptions.count_pending(collection, model=model)
    hand_in(claim, request, EmbedNotes(total=done, pending=pending, usage=usage.noted()), ENDING, ports)


def describe_missing(collection: str, ports: ModulePorts) -> None:
    """Store the descriptions of documents that workers of the release before have stored since."""
    before: Sequence[object] = ()
    while (missing := ports.descriptions.undescribed(collection, limit=DOCUMENTS_BATCH)) and missing != before:
        describe(collection, missing, ports)
        before = missing


def embed_pending(collection: str, caller: Caller, ports: ModulePorts) -> Iterator[tuple[int, Usage, int]]:
    """Embed the pending descriptions of a collection, some at a time.

    Yields:
        After each call how many passages were embedded, the usage, and how many of those listed are left.
    """
    model = ports.embeddings.model
    while listed := ports.descriptions.pending(collection, model=model, limit=LISTED):
        for start in range(0, len(listed), SLICE):
            # Read again: of a document that was dropped or changed meanwhile, nothing is sent to the provider any more.
            some = ports.descriptions.still_pending(collection, listed[start : start + SLICE], model=model)
            usage = embed(collection, some, caller, ports) if some else Usage()
            yield len(some), usage, max(len(listed) - start - SLICE, 0)
    ports.descriptions.drop_other_models(collection, model=model)


def embed(collection: str, passages: Sequence[PendingDescription], caller: Caller, ports: ModulePorts) -> Usage:
    """Embed passages and store their vectors; set aside those that the provider refuses. Return calls and tokens."""
    model = ports.embeddings
    embedded, usage = embed_each([passage.text for passage in passages], model, input_type="passage", caller=caller)
    vectors = [None if isinstance(result, Refusal) else result for result in embedded]
    refused = {
        passage: AsideText(shown_id(passage.document), str(passage.number), model.model, result.reason)
        for passage, result in zip(passages, embedded, strict=True)
        if isinstance(result, Refusal)
    }
    if not refused:
        ports.descriptions.fill(collection, passages, vectors, model=model.model)
        return usage
    subjects = [Subject(document) for document in {text.document for text in refused.values()}]
    with ports.ledger.changing(collection, KIND, subjects, NO_VERSION, whole=False):
        left = ports.descriptions.still_pending(collection, list(refused), model=model.model)
        ports.descriptions.fill(collection, passages, vectors, model=model.model)
        ports.set_aside.add(collection, KIND, [refused[passage] for passage in left])
    return usage


def embed_soon(collection: str, ports: ModulePorts, *, after: str) -> Sequence[Bell]:
    """Submit a job that embeds pending descriptions, at most once for the job ``after``; return its bells."""
    if not ports.descriptions.pending(collection, model=ports.embeddings.model, limit=1):
        return []
    request = EmbedModules(collection=collection)
    job_id, is_new = ports.board.submit(request, idempotency_key=f"vectors after {after}")
    (only,) = request.steps
    return [Bell(job_id, only, request.queue_of(only))] if is_new else []


def to_result(request: EmbedModules, picture: Picture, notes: EmbedNotes) -> EmbedModulesResult:
    """Report how many passages were embedded."""
    return EmbedModulesResult(
        job_id=picture.record.job_id,
        complete=True,
        collection=request.collection,
        total=notes.total,
        pending=notes.pending,
        usage=notes.usage,
    )


ENDING: Final = Ending(EmbedNotes, to_result)
