"""Embed the passages of sessions that have no vector, in a job that ingestion submits.

At most one job of a single session waits for it. A worker that changes the session while that job waits does not submit
another: the waiting job embeds the change. If a worker dies, the next attempt resumes: stored vectors are not pending.

What is pending is read again for every batch, so a session that is forgotten is not embedded any further. A passage
that the provider refuses is set aside, and the others go on.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from pydantic import Field

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.messages.life import (
    EmbedMessages,
    EmbedMessagesResult,
    EmbedSessions,
    EmbedSessionsResult,
    ReembedMessages,
)
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import frozen
from querymill_workers.inference.ports import Embeddings
from querymill_workers.inference.refusals import Refusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.sessions import PendingPassage
from querymill_workers.set_aside.ports import AsideText

#: Texts per embedding call. Small, so that a question does not wait long behind a call on a shared server, and so that
#: few texts of a forgotten session are still sent.
BATCH: Final = 16
#: Passages that one job embeds of many sessions: a few at a time, so that the workers share those of a load.
JOB_PASSAGES: Final = 16 * BATCH
#: Ids of refused passages that a result names. All are listed by ``querymill status --set-aside``.
NAMED: Final = 5


class EmbedNotes(Notes):
    """How many vectors the job made, which passages were refused, and the provider calls and tokens."""

    total: int
    refused: tuple[str, ...] = Field(default=(), exclude_if=lambda refused: not refused)
    usage: dict[str, int]


def step(claim: Claim, request: EmbedMessages, ports: MessagePorts) -> None:
    """Embed the session's pending passages, with each model that its collection needs."""
    embed_sessions(claim, request, [request.session_id], ENDING, ports)


def step_of_many(claim: Claim, request: EmbedSessions, ports: MessagePorts) -> None:
    """Embed the pending passages of many sessions."""
    embed_sessions(claim, request, request.session_ids, ENDING_OF_MANY, ports)


def embed_sessions(
    claim: Claim,
    request: EmbedMessages | EmbedSessions,
    session_ids: Sequence[str],
    ending: Ending[Any, EmbedNotes],
    ports: MessagePorts,
) -> None:
    """Embed what is pending in sessions, and close the step."""
    collection = request.collection
    ports.sessions.begin_embedding(collection, session_ids)
    models = models_to_embed_with(collection, ports)
    left = sum(ports.sessions.count_pending(collection, session_ids, model=model.model) for model in models)
    refused: list[str] = []
    total, usage = 0, Usage()
    for model in models:
        while pending := ports.sessions.pending(collection, session_ids, model=model.model, limit=BATCH):
            batch = embed_batch(pending, model, request, ports)
            total, left = total + batch.embedded, max(left - len(pending), 0)
            refused += batch.refused
            usage += batch.usage
            if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=total, total=total + left)):
                return  # cancelled; the next job embeds the rest
    hand_in(claim, request, EmbedNotes(total=total, refused=tuple(refused), usage=usage.noted()), ending, ports)
    if total:
        # This may take a while, and no caller waits for it.
        for model in models:
            ports.messages.index_if_large(collection, model=model.model, dimensions=model.dimensions)


def models_to_embed_with(collection: str, ports: MessagePorts) -> Sequence[Embeddings]:
    """Return the models that embed new messages: the workers' own, then the previous one if searches still use it.

    A collection is searched by the previous model until all its vectors of the new model exist. The workers' own model
    comes first, so that the switch to it misses no message.
    """
    searched_by = ports.sessions.searched_by(collection, first=ports.embeddings.model)
    previous = ports.previous
    if previous is None or searched_by != previous.embeddings.model or searched_by == ports.embeddings.model:
        return [ports.embeddings]
    return [ports.embeddings, previous.embeddings]


def submit_embedding(
    collection: str, session_id: str, models: Sequence[Embeddings], ports: MessagePorts, *, lane: Lane, token: str
) -> tuple[str | None, Sequence[Bell]]:
    """Submit a job that embeds a session if a vector is missing, unless such a job waits in the same lane.

    Returns the id of the job that embeds the session, or None if there is none, and the bells of a new job. Jobs in a
    faster lane do not wait behind a slower one.
    """
    names = [model.model for model in models]
    waiting = ports.sessions.await_embedding(collection, {session_id: token}, models=names)
    if session_id not in waiting:
        return None, []
    return _submit_one(collection, session_id, waiting[session_id], lane, ports)


def submit_embedding_of_many(
    collection: str, passages: Mapping[str, int], models: Sequence[Embeddings], ports: MessagePorts, *, lane: Lane,
    token: str,
) -> tuple[Sequence[str], Sequence[Bell]]:  # fmt: skip
    """Submit jobs that embed those sessions in which a vector is missing, several sessions in each.

    ``passages`` is the number of passages of each session. A session for which a job of an earlier write waits is left
    to that one. Returns the ids of all these jobs, and the bells of new ones.
    """
    names = [model.model for model in models]
    # Each session has a token of its own: a later write of one submits a job of that session alone.
    tokens = {session_id: _digest(f"{token}\n{session_id}") for session_id in passages}
    waiting = ports.sessions.await_embedding(collection, tokens, models=names)
    own = {id_: passages[id_] for id_ in tokens if waiting.get(id_) == tokens[id_]}
    submitted = [
        _submit_one(collection, id_, waiting[id_], lane, ports) for id_ in tokens if id_ in waiting and id_ not in own
    ]
    for part in parts_of(own):
        # A later attempt asks for the same job again, unless some of its sessions have their vectors by then.
        asked = _digest(" ".join(tokens[id_] for id_ in part))
        request = EmbedSessions(collection=collection, session_ids=part, lane=lane)
        submitted.append(submit_once(request, f"embed {asked} {lane}", ports))
    jobs = [job_id for job_id, _ in submitted if job_id is not None]
    return jobs, [bell for _, bells in submitted for bell in bells]


def parts_of(passages: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Cut sessions into parts of about `JOB_PASSAGES` passages, in their order.

    For example, sessions of 100, 100, 100 and 1,000 passages become parts of two sessions, one and one.
    """
    part: list[str] = []
    total = 0
    for session_id, count in passages.items():
        if part and total + count > JOB_PASSAGES:
            yield tuple(part)
            part, total = [], 0
        part.append(session_id)
        total += count
    if part:
        yield tuple(part)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _submit_one(
    collection: str, session_id: str, waiting: str, lane: Lane, ports: MessagePorts
) -> tuple[str | None, Sequence[Bell]]:
    if lane is Lane.INTERACTIVE:
        lane = Lane.NORMAL  # an earlier release accepted ingestion in the lane that is kept for questions
    request = EmbedMessages(collection=collection, session_id=session_id, lane=lane)
    return submit_once(request, f"embed {waiting} {lane}", ports)


@frozen
class EmbeddedBatch:
    """How many vectors were stored, the ids of the passages that were refused, and what it cost."""

    embedded: int
    refused: Sequence[str]
    usage: Usage


def embed_batch(
    batch: Sequence[PendingPassage],
    model: Embeddings,
    request: EmbedMessages | EmbedSessions | ReembedMessages,
    ports: MessagePorts,
) -> EmbeddedBatch:
    """Embed passages, store their vectors, and set aside those that the provider refuses."""
    collection = request.collection
    texts = [passage.content for passage in batch]
    caller = Caller(collection, request.lane)
    found, usage = embed_each(texts, model, input_type="passage", caller=caller)
    embedded = [(passage, one) for passage, one in zip(batch, found, strict=True) if not isinstance(one, Refusal)]
    refused = {passage: one for passage, one in zip(batch, found, strict=True) if isinstance(one, Refusal)}
    if embedded:
        vectors = np.stack([vector for _, vector in embedded])
        ports.sessions.fill(collection, [passage for passage, _ in embedded], vectors, model=model.model)
    if refused:
        still_there = set(ports.sessions.refuse(collection, list(refused), model=model.model))
        aside = [
            AsideText(passage.session_id, passage.vector_id, model.model, refusal.reason)
            for passage, refusal in refused.items()
            if passage.vector_id in still_there
        ]
        ports.set_aside.add(collection, "messages", aside)
    return EmbeddedBatch(len(embedded), [passage.vector_id for passage in refused], usage)


def refused_by(model: str, refused: Sequence[str]) -> tuple[Degradation, ...]:
    """Say which passages have no vector because the provider refused them."""
    if not refused:
        return ()
    named = ", ".join(refused[:NAMED]) + (", …" if len(refused) > NAMED else "")
    reason = f"{model} refused {len(refused)} passages: {named}; see `querymill status --set-aside`"
    return (Degradation(stage="embed", reason=reason, code="provider_refused"),)


def to_result(request: EmbedMessages, picture: Picture, notes: EmbedNotes) -> EmbedMessagesResult:
    """Build the result from the notes."""
    return EmbedMessagesResult(
        job_id=picture.record.job_id,
        session_id=request.session_id,
        total=notes.total,
        usage=notes.usage,
        complete=not notes.refused,
        degraded=refused_by("the provider", notes.refused),
    )


def to_result_of_many(_: EmbedSessions, picture: Picture, notes: EmbedNotes) -> EmbedSessionsResult:
    """Build the result from the notes."""
    return EmbedSessionsResult(
        job_id=picture.record.job_id,
        total=notes.total,
        usage=notes.usage,
        complete=not notes.refused,
        degraded=refused_by("the provider", notes.refused),
    )


ENDING: Final = Ending(EmbedNotes, to_result)
ENDING_OF_MANY: Final = Ending(EmbedNotes, to_result_of_many)
