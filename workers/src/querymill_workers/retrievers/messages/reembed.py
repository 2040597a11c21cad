"""Embed a collection's messages with another model, next to the vectors that searches use, then switch to it.

The parts of the collection are steps of one job and run side by side. The last part to end makes the switch. If a
worker dies, the next attempt resumes: a session that has all its vectors is skipped. Passages that the provider refuses
are tried again, set aside, and do not keep the collection from the switch.
"""

from pydantic import Field

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.messages.life import PARTS, ReembedMessages, ReembedResult
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.stages import stage, used
from querymill_workers.jobs.usage import Usage
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.ledger.ports import Subject, version_of
from querymill_workers.retrievers.messages.embed import BATCH, embed_batch, refused_by
from querymill_workers.retrievers.messages.ingest import KIND
from querymill_workers.retrievers.messages.ports import MessagePorts


class PartNotes(Notes):
    """How many vectors a part made, which passages were refused, and the provider calls and tokens."""

    embedded: int
    refused: tuple[str, ...] = Field(default=(), exclude_if=lambda refused: not refused)
    usage: dict[str, int]


def step(claim: Claim, request: ReembedMessages, ports: MessagePorts) -> None:
    """Embed one part of the collection.

    Raises:
        Refused: The workers use another model, or the collection has no messages.
    """
    model, collection = ports.embeddings, request.collection
    if request.model != model.model:
        raise Refused(f"model: must be the workers' embedding model {model.model!r} (got {request.model!r})")
    if ports.sessions.searched_by(collection) is None:
        raise Refused(f"collection: no messages in {collection!r}")
    part = request.steps.index(claim.step)
    sessions = ports.sessions.lacking(collection, model=model.model, part=part, parts=PARTS)
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
            return  # cancelled; the next job skips the sessions that are done
    ports.messages.index_if_large(collection, model=model.model, dimensions=model.dimensions)
    notes = PartNotes(embedded=embedded, refused=tuple(refused), usage=usage.noted())
    former = ports.sessions.searched_by(collection)
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board()))
    if picture is not None and switch_if_complete(picture, request, ports):
        # This takes a while, and no caller waits for it. If the worker dies, the next run drops the remaining rows.
        ports.sessions.drop_other_models(collection, model=model.model)
        if former not in (None, model.model):
            ports.messages.drop_index(collection, model=former)


def conclude(picture: Picture, request: ReembedMessages, ports: MessagePorts) -> None:
    """Settle the job once every part has closed."""
    switch_if_complete(picture, request, ports)


def switch_if_complete(picture: Picture, request: ReembedMessages, ports: MessagePorts) -> bool:
    """Switch the collection to the model and settle the job, once every part has closed.

    Returns whether the collection has been switched.
    """
    if not all(step.is_closed for step in picture.steps):
        return False
    failed = [step for step in picture.steps if step.state == "failed"]
    if failed:
        verdict = lost(picture, failed[0].reason)
    elif not ports.sessions.switch(request.collection, model=request.model):
        reason = (
            f"messages without a vector of {request.model} have been ingested since; run the command again to resume"
        )
        verdict = Verdict("failed", reason=reason, code="pending")
    else:
        verdict = done(result_of(picture, request))
    ports.board.settle(picture.record.job_id, verdict)
    return verdict.state == "done"


def result_of(picture: Picture, request: ReembedMessages) -> ReembedResult:
    """Build the result from what the parts noted."""
    parts = [PartNotes.of(step) for step in picture.steps]
    refused = [passage for part in parts for passage in part.refused]
    return ReembedResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        model=request.model,
        total=sum(part.embedded for part in parts),
        complete=not refused,
        degraded=refused_by(request.model, refused),
        stages=tuple(stage(step) for step in picture.steps),
        usage=used(picture),
    )
