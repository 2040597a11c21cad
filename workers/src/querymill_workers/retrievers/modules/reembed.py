"""Embed the descriptions of a collection with another model, and those of documents that were stored without.

If the job is killed, the next attempt resumes: passages that have their vector are skipped.
"""

from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.modules.embed import ReembedModules, ReembedModulesResult
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Mistaken, NotFound
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.modules.describe import describe
from querymill_workers.retrievers.modules.embed import embed_pending
from querymill_workers.retrievers.modules.notes import EmbedNotes
from querymill_workers.retrievers.modules.ports import KIND, ModulePorts


def step(claim: Claim, request: ReembedModules, ports: ModulePorts) -> None:
    """Embed all descriptions without a vector of the workers' model, also those that its provider refused before.

    Raises:
        Mistaken: The workers use another model.
        NotFound: The collection has no documents.
    """
    collection, model = request.collection, ports.embeddings.model
    if request.model != model:
        raise Mistaken(f"model: must be the workers' embedding model {model!r} (got {request.model!r})")
    documents = [summary.document for summary in ports.modules.describe_all(collection)]
    if not documents:
        raise NotFound(f"collection: no code documents in {collection!r}")
    if claim.attempt == 1:
        describe(collection, documents, ports)
        ports.set_aside.drop(collection, KIND, None, model=model)
        ports.descriptions.retry(collection, model=model)
    usage, done = Usage(), 0
    for made, spent, left in embed_pending(collection, Caller.of(claim, request, ports), ports):
        usage, done = usage + spent, done + made
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=done + left)):
            return  # cancelled; the vectors so far stay
    hand_in(claim, request, EmbedNotes(total=done, pending=0, usage=usage.noted()), ENDING, ports)


def to_result(request: ReembedModules, picture: Picture, notes: EmbedNotes) -> ReembedModulesResult:
    """Build the result."""
    return ReembedModulesResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        model=request.model,
        total=notes.total,
        complete=True,
        usage=notes.usage,
    )


ENDING: Final = Ending(EmbedNotes, to_result)
