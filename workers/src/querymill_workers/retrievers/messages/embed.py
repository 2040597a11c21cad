"""Embed the passages of a session that have no vector, in a job that ingestion submits.

At most one embedding job waits per session. A worker that changes the session while that job waits does not submit
another: the waiting job embeds the change. A job that has started may have read the pending passages already, so the
next change submits another. If a worker dies, the next attempt resumes: stored vectors are not pending.
"""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.messages.life import EmbedMessages, EmbedMessagesResult
from querymill_workers.inference.ports import Embeddings
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.sessions import PendingPassage

#: Texts per embedding call. Small, so that a question does not wait long behind a call on a shared server.
BATCH: Final = 16


class EmbedNotes(Notes):
    """How many vectors the job made, and with how many provider calls and tokens."""

    total: int
    usage: dict[str, int]


def step(claim: Claim, request: EmbedMessages, ports: MessagePorts) -> None:
    """Embed the session's pending passages, with each model that its collection needs."""
    collection, session_id = request.collection, request.session_id
    ports.sessions.begin_embedding(collection, session_id)
    models = models_to_embed_with(collection, ports)
    work = [(model, ports.sessions.pending(collection, session_id, model=model.model)) for model in models]
    total, embedded, usage = sum(len(pending) for _, pending in work), 0, Usage()
    for model, pending in work:
        for batch in batches_of(pending):
            usage += embed_batch(batch, model, collection, request.lane, ports)
            embedded += len(batch)
            if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=embedded, total=total)):
                return  # cancelled; the next job embeds the rest
    hand_in(claim, request, EmbedNotes(total=total, usage=usage.noted()), ENDING, ports)


def models_to_embed_with(collection: str, ports: MessagePorts) -> Sequence[Embeddings]:
    """Return the models that embed new messages: the workers' own, then the previous one if searches still use it.

    A collection is searched by the previous model until all its vectors of the new model exist. The workers' own model
    comes first, so that the switch to it misses no message. Both models have the same dimension.
    """
    searched_by = ports.sessions.searched_by(collection, first=ports.embeddings.model)
    former = ports.former
    if former is None or searched_by != former.embeddings.model or searched_by == ports.embeddings.model:
        return [ports.embeddings]
    return [ports.embeddings, former.embeddings]


def submit_embedding(
    collection: str, session_id: str, models: Sequence[Embeddings], ports: MessagePorts, *, lane: Lane, token: str
) -> tuple[str | None, Sequence[Bell]]:
    """Submit a job that embeds a session if a vector is missing, unless such a job waits in the same lane.

    Returns the id of the job that embeds the session, or None if there is none, and the bells of a new job. Jobs in a
    faster lane do not wait behind a slower one.
    """
    names = [model.model for model in models]
    waiting = ports.sessions.await_embedding(collection, session_id, models=names, token=token)
    if waiting is None:
        return None, []
    request = EmbedMessages(collection=collection, session_id=session_id, lane=lane)
    return submit_once(request, f"embed {waiting} {lane}", ports)


def batches_of(pending: Sequence[PendingPassage]) -> list[Sequence[PendingPassage]]:
    """Cut passages into batches of one embedding call each."""
    return [pending[start : start + BATCH] for start in range(0, len(pending), BATCH)]


def embed_batch(
    batch: Sequence[PendingPassage], model: Embeddings, collection: str, lane: Lane, ports: MessagePorts
) -> Usage:
    """Embed passages, store their vectors, and return the usage of the call."""
    texts = [passage.content for passage in batch]
    vectors, usage = model.embed(texts, input_type="passage", caller=Caller(collection, lane))
    ports.sessions.fill(collection, batch, vectors, model=model.model)
    return usage


def to_result(request: EmbedMessages, picture: Picture, notes: EmbedNotes) -> EmbedMessagesResult:
    """Build the result from the notes."""
    return EmbedMessagesResult(
        job_id=picture.record.job_id,
        session_id=request.session_id,
        total=notes.total,
        usage=notes.usage,
        complete=True,
    )


ENDING: Final = Ending(EmbedNotes, to_result)
