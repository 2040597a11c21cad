"""Embedding what of a session lacks its vectors, after ingestion asked for it.

One waits for a session at a time: whoever changes the session while one waits leaves the change to it. One that has
begun does not count any more, because it may have looked already. Killed anywhere, the next attempt goes on where
this one was: what is stored is not pending.
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
from querymill_workers.jobs.follow_up import asked_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.sessions import PendingPassage

#: Texts per embedding call: small enough that a question waits little behind one on a shared server.
BATCH = 16


class EmbedNotes(Notes):
    """How many vectors the job made, and with how many provider calls and tokens."""

    total: int
    usage: dict[str, int]


def step(claim: Claim, request: EmbedMessages, ports: MessagePorts) -> Sequence[Bell]:
    """Embed the session's pending passages, by each of the models that its collection has to do with."""
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
                return []  # cancelled; what is stored waits for the next one
    hand_in(claim, request, EmbedNotes(total=total, usage=usage.noted()), ENDING, ports)
    return []


def models_to_embed_with(collection: str, ports: MessagePorts) -> Sequence[Embeddings]:
    """Return the models that new messages are embedded by: the workers' own, then the previous one while it is in use.

    A collection is searched by the previous model until its vectors of the new one are complete. The workers' own comes
    first, so that the switch to it misses nothing. Both models have the same dimension.
    """
    searched_by = ports.sessions.searched_by(collection, first=ports.embeddings.model)
    former = ports.former
    if former is None or searched_by != former.embeddings.model or searched_by == ports.embeddings.model:
        return [ports.embeddings]
    return [ports.embeddings, former.embeddings]


def submit_embedding(
    collection: str, session_id: str, models: Sequence[Embeddings], ports: MessagePorts, *, lane: Lane, token: str
) -> tuple[str | None, Sequence[Bell]]:
    """Ask for a session to be embedded, if it lacks a vector; returns the job that will, and the bells of a new one.

    Who is in a faster lane does not leave it to one that waits in a slower.
    """
    names = [model.model for model in models]
    waiting = ports.sessions.await_embedding(collection, session_id, models=names, token=token)
    if waiting is None:
        return None, []
    request = EmbedMessages(collection=collection, session_id=session_id, lane=lane)
    return asked_once(request, f"embed {waiting} {lane}", ports)


def batches_of(pending: Sequence[PendingPassage]) -> list[Sequence[PendingPassage]]:
    """Cut passages into calls."""
    return [pending[start : start + BATCH] for start in range(0, len(pending), BATCH)]


def embed_batch(
    batch: Sequence[PendingPassage], model: Embeddings, collection: str, lane: Lane, ports: MessagePorts
) -> Usage:
    """Embed passages and store their vectors."""
    texts = [passage.content for passage in batch]
    vectors, spent = model.embed(texts, input_type="passage", caller=Caller(collection, lane))
    ports.sessions.fill(collection, batch, vectors, model=model.model)
    return spent


def to_result(request: EmbedMessages, picture: Picture, notes: EmbedNotes) -> EmbedMessagesResult:
    """Say what was embedded."""
    return EmbedMessagesResult(
        job_id=picture.record.job_id,
        session_id=request.session_id,
        total=notes.total,
        usage=notes.usage,
        complete=True,
    )


ENDING: Final = Ending(EmbedNotes, to_result)
