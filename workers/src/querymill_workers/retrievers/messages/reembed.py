"""Embed a collection's messages with another model, next to the vectors that searches use, then switch to it.

The parts of the collection are steps of one job and run side by side. The last part to end makes the switch. If
messages have been ingested since, it adds a step that embeds them and then switches. If a worker dies, the next attempt
resumes: a session that has all its vectors is skipped. Passages that the provider refuses are tried again, set aside,
and do not keep the collection from the switch.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.messages.life import PARTS, ReembedMessages, ReembedMessagesResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Conflict, Mistaken, NotFound
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.stages import stage, used
from querymill_workers.jobs.usage import Usage
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.ledger.ports import Subject, version_of
from querymill_workers.retrievers.messages.embed import BATCH, embed_batch, refused_by
from querymill_workers.retrievers.messages.ingest import KIND
from querymill_workers.retrievers.messages.ports import MessagePorts

#: The step that embeds what the parts missed, as it was ingested when they ended.
REST: Final = "rest"


class PartNotes(Notes):
    """How many vectors a part made, which passages were refused, and the provider calls and tokens."""

    embedded: int
    refused: tuple[str, ...] = Field(default=(), exclude_if=lambda refused: not refused)
    usage: dict[str, int]


def step(claim: Claim, request: ReembedMessages, ports: MessagePorts) -> Sequence[Bell]:
    """Embed one part of the collection, or what the parts missed.

    Raises:
        Mistaken: The workers use another model.
        NotFound: The collection has no messages.
        Conflict: Messages were ingested meanwhile; they are embedded by the next attempt.
    """
    model, collection = ports.embeddings, request.collection
    if request.model != model.model:
        raise Mistaken(f"model: must be the workers' embedding model {model.model!r} (got {request.model!r})")
    if ports.sessions.searched_by(collection) is None:
        raise NotFound(f"collection: no messages in {collection!r}")
    part, parts = (0, 1) if claim.step == REST else (request.steps.index(claim.step), PARTS)
    sessions = ports.sessions.lacking(collection, model=model.model, part=part, parts=parts)
    refused: list[str] = []
    embedded, usage = 0, Usage()
    for number, session_id in enumerate(sessions, start=1):
        with ports.ledger.changing(collection, KIND, [Subject(session_id)], version_of(claim), whole=False):
            ports.sessions.add_model(collection, session_id, model=model.model)
            ports.set_aside.drop(collection, KIND, [session_id], model=model.model)
        while pending := ports.sessions.pending(collection, [session_id], model=model.model, limit=BATCH):
            batch = embed_batch(pending, model, request, ports)
            embedded += batch.embedded
            refused += batch.refused
            usage += batch.usage
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=number, total=len(sessions))):
            return []  # cancelled; the next job skips the sessions that are done
    ports.messages.index_if_large(collection, model=model.model, dimensions=model.dimensions)
    return close(claim, request, PartNotes(embedded=embedded, refused=tuple(refused), usage=usage.noted()), ports)


def close(claim: Claim, request: ReembedMessages, notes: PartNotes, ports: MessagePorts) -> Sequence[Bell]:
    """Close a step, and after the switch drop the vectors of the model before.

    Raises:
        Conflict: Messages were ingested since the last step looked.
    """
    model, collection = ports.embeddings, request.collection
    former = ports.sessions.searched_by(collection)
    if claim.step == REST and not ports.sessions.switch(collection, model=model.model):
        raise Conflict("messages were ingested while the collection was embedded")
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board()))
    bells = [] if picture is None else conclude(picture, request, ports)
    if picture is not None and not bells and ports.sessions.searched_by(collection) == model.model:
        # This takes a while, and no caller waits for it. If the worker dies, the next run drops the remaining rows.
        ports.sessions.drop_other_models(collection, model=model.model)
        if former not in (None, model.model):
            ports.messages.drop_index(collection, model=former)
    return bells


def conclude(picture: Picture, request: ReembedMessages, ports: MessagePorts) -> Sequence[Bell]:
    """Switch the collection to the model and settle the job, once every part has closed.

    If messages that have no vector of the model were ingested meanwhile, one more step embeds them and switches.
    """
    if not all(step.is_closed for step in picture.steps):
        return []
    failed = [step for step in picture.steps if step.state == "failed"]
    if failed:
        ports.board.settle(picture.record.job_id, lost(picture, failed[0].reason))
        return []
    is_switched = any(step.name == REST for step in picture.steps)
    if not is_switched and not ports.sessions.switch(request.collection, model=request.model):
        return add_steps(picture, [REST], request, ports)
    ports.board.settle(picture.record.job_id, done(result_of(picture, request)))
    return []


def result_of(picture: Picture, request: ReembedMessages) -> ReembedMessagesResult:
    """Build the result from what the parts noted."""
    parts = [PartNotes.of(step) for step in picture.steps]
    refused = [passage for part in parts for passage in part.refused]
    return ReembedMessagesResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        model=request.model,
        total=sum(part.embedded for part in parts),
        complete=not refused,
        degraded=refused_by(request.model, refused),
        stages=tuple(stage(step) for step in picture.steps),
        usage=used(picture),
    )
