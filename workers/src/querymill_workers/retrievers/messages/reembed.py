"""Embedding a collection's messages by another model, beside the vectors it is searched by; then the switch.

The parts of the collection are steps of one job, done side by side. Killed anywhere, the next attempt goes on where
this one was: a session whose vectors are all there is not looked at again. The last part to end switches.
"""

from collections.abc import Sequence

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.messages.life import PARTS, ReembedMessages, ReembedResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.stages import stage, used
from querymill_workers.jobs.usage import Usage
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.messages.embed import batches_of, embed_batch
from querymill_workers.retrievers.messages.ports import MessagePorts


class PartNotes(Notes):
    """How many vectors a part made, and with how many provider calls and tokens."""

    embedded: int
    usage: dict[str, int]


def step(claim: Claim, request: ReembedMessages, ports: MessagePorts) -> Sequence[Bell]:
    """Embed one part of the collection."""
    model, collection = ports.embeddings, request.collection
    if request.model != model.model:
        raise Refused(f"model: the workers embed by {model.model!r}, not by {request.model!r}")
    if ports.sessions.searched_by(collection) is None:
        raise Refused(f"collection: no messages in {collection!r}")
    part = request.steps.index(claim.step)
    sessions = ports.sessions.lacking(collection, model=model.model, part=part, parts=PARTS)
    embedded, usage = 0, Usage()
    for number, session_id in enumerate(sessions, start=1):
        with ports.sessions.changing(collection, session_id):
            ports.sessions.add_model(collection, session_id, model=model.model)
        for batch in batches_of(ports.sessions.pending(collection, session_id, model=model.model)):
            usage += embed_batch(batch, model, collection, request.lane, ports)
            embedded += len(batch)
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=number, total=len(sessions))):
            return []  # cancelled; what is stored is there for the next one
    notes = PartNotes(embedded=embedded, usage=usage.noted())
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board()))
    if picture is not None and switch_if_complete(picture, request, ports):
        # It takes a while, and nobody waits for it: what a kill leaves of them goes with the next run.
        ports.sessions.drop_other_models(collection, model=model.model)
    return []


def conclude(picture: Picture, request: ReembedMessages, ports: MessagePorts) -> None:
    """Switch once every part is in."""
    switch_if_complete(picture, request, ports)


def switch_if_complete(picture: Picture, request: ReembedMessages, ports: MessagePorts) -> bool:
    """Switch once every part is in; tell whether the collection is searched by the model now."""
    if not all(step.is_closed for step in picture.steps):
        return False
    failed = [step for step in picture.steps if step.state == "failed"]
    if failed:
        verdict = lost(picture, failed[0].reason)
    elif not ports.sessions.switch(request.collection, model=request.model):
        reason = (
            f"messages came in meanwhile that have no vector of {request.model}; run it again, it goes on from here"
        )
        verdict = Verdict("failed", reason=reason)
    else:
        verdict = done(result_of(picture, request))
    ports.board.settle(picture.record.job_id, verdict)
    return verdict.state == "done"


def result_of(picture: Picture, request: ReembedMessages) -> ReembedResult:
    """Say what was embedded."""
    return ReembedResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        model=request.model,
        total=sum(PartNotes.of(step).embedded for step in picture.steps),
        complete=True,
        stages=tuple(stage(step) for step in picture.steps),
        usage=used(picture),
    )
