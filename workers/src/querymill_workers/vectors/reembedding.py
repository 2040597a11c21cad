"""Embed a collection with another model, next to the vectors that searches compare, then switch to it at once.

The parts of the collection are steps of one job and run side by side. The last part to end makes the switch. If
documents have been ingested since, it adds a step that embeds them and then switches. If a worker dies, the next
attempt resumes: passages that have their vector are skipped. Those that the provider refused are tried again, and do
not keep the collection from the switch.
"""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.vectors import PARTS, Reembed, ReembedResult
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Conflict, Mistaken, NotFound
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.stages import stage, used
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.vectors.embedding import (
    Embeddable,
    Embedded,
    embed_pending,
    refused_by,
    switch_if_complete,
)
from querymill_workers.vectors.ports import WHOLE, CollectionPart, VectorPorts

#: The step that embeds what the parts missed, because it was ingested while they ran.
REST: Final = "rest"


class ReembedPartNotes(Notes):
    """How many vectors a part made, how many passages were refused, and the provider calls and tokens."""

    made: int
    refused: int
    usage: dict[str, int]


def reembed(claim: Claim, request: Reembed, target: Embeddable, ports: VectorPorts) -> Sequence[Bell]:
    """Embed one part of the collection, or what the parts missed.

    Raises:
        Mistaken: The workers use another model.
        NotFound: The collection holds no documents of the retriever.
        Conflict: Documents were ingested since; the next attempt embeds them.
    """
    model, collection, vectors = ports.embeddings, request.collection, ports.vectors[target.retriever]
    if request.model != model.model:
        raise Mistaken(f"model: must be the workers' embedding model {model.model!r} (got {request.model!r})")
    if vectors.active_model(collection) is None and vectors.counts(collection, model=model.model).passages == 0:
        raise NotFound(f"collection: no {target.retriever} in {collection!r}")
    vectors.active_model(collection, first=model.model)
    part = WHOLE if claim.step == REST else CollectionPart(request.steps.index(claim.step), PARTS)
    if claim.attempt == 1 and claim.step != REST:
        vectors.retry(collection, model=model.model, part=part)
    counted, embedded = vectors.counts(collection, model=model.model, part=part), Embedded()
    for step in embed_pending(target, collection, model, Caller.of(claim, request, ports), ports, part=part):
        embedded += step
        left = max(counted.pending - embedded.made - embedded.refused, 0)
        progress = Progress(stage=claim.step, done=counted.passages - left, total=counted.passages)
        if not ports.board.append_event(claim.job_id, progress):
            return []  # cancelled; the vectors so far stay
    vectors.index_if_large(collection, model=model.model, dimensions=model.dimensions)
    if claim.step == REST and not switch_if_complete(target, collection, model.model, ports):
        raise Conflict(f"{target.retriever} were ingested while the collection was embedded")
    notes = ReembedPartNotes(made=embedded.made, refused=embedded.refused, usage=embedded.usage.noted())
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), parts=job_counts.current().close()))
    return [] if picture is None else conclude(picture, request, target, ports)


def conclude(picture: Picture, request: Reembed, target: Embeddable, ports: VectorPorts) -> Sequence[Bell]:
    """Switch the collection to the model and settle the job, once every part has closed.

    If documents that have no vector of the model were ingested since, one more step embeds them and switches.
    """
    if not all(step.is_closed for step in picture.steps):
        return []
    failed = [step for step in picture.steps if step.state == "failed"]
    if failed:
        ports.board.settle(picture.record.job_id, lost(picture, failed[0].reason))
        return []
    is_switched = any(step.name == REST for step in picture.steps)
    if not is_switched and not switch_if_complete(target, request.collection, request.model, ports):
        return add_steps(picture, [REST], request, ports)
    ports.board.settle(picture.record.job_id, done(result_of(picture, request), picture))
    return []


def result_of(picture: Picture, request: Reembed) -> ReembedResult:
    """Build the result from what the parts noted."""
    parts = [ReembedPartNotes.of(step) for step in picture.steps]
    refused = sum(part.refused for part in parts)
    return ReembedResult(
        job_id=picture.record.job_id,
        retriever=request.retriever,
        collection=request.collection,
        model=request.model,
        total=sum(part.made for part in parts),
        complete=not refused,
        degraded=refused_by(request.model, refused),
        stages=tuple(stage(step) for step in picture.steps),
        usage=used(picture),
    )
