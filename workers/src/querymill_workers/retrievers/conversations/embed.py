"""Embed the passages of sessions that have no vector, in a job that whatever changes sessions submits.

At most one job of a session waits for it: a change while it waits submits no other, the waiting job embeds the change.
What is pending is read again before every call, so a session that is forgotten is not embedded any further. A passage
that the provider refuses is set aside, and the others go on. If a worker dies, the next attempt resumes.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.conversations.life import EmbedConversations, EmbedConversationsResult
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.loading import MAX_DOCUMENTS
from querymill_shared.contracts.results import Degradation
from querymill_workers.inference.ports import Embeddings
from querymill_workers.inference.refusals import Refusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.ledger.ports import Subject, Version
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.passages import PendingPassage
from querymill_workers.retrievers.conversations.ports.sessions import KIND
from querymill_workers.set_aside.ports import AsideText

#: Texts per embedding call. Small, so that a question does not wait long behind a call on a shared server, and so that
#: few texts of a forgotten session are still sent.
BATCH: Final = 16
#: Passages that one job embeds of many sessions: a few at a time, so that the workers share those of a load.
JOB_PASSAGES: Final = 16 * BATCH
#: Embedding writes no version of a session: it only keeps others from changing it.
_NO_VERSION: Final = Version(0, "")


class EmbedNotes(Notes):
    """How many vectors the job made, how many passages were refused, and the provider calls and tokens."""

    total: int
    refused: int
    usage: dict[str, int]


def step(claim: Claim, request: EmbedConversations, ports: ConversationPorts) -> None:
    """Embed what is pending in the sessions, with each model that their collection needs."""
    collection, ids = request.collection, request.session_ids
    if claim.age_s < request.settle_s:
        wait = request.settle_s - claim.age_s
        ports.board.postpone(claim, delay_s=wait, reason="waiting for more messages", cause="pause")
        return
    ports.conversation_passages.begin_embedding(collection, ids)
    caller = Caller.of(claim, request, ports)
    usage, total, refused = Usage(), 0, 0
    models = models_to_embed_with(
        ports.conversation_passages.searched_by(collection, first=ports.embeddings.model), ports
    )
    for model in models:
        left = ports.conversation_passages.counts(collection, model=model.model, session_ids=ids).pending
        for made, aside, spent in embed_pending(collection, model, ids, caller, ports):
            usage, total, refused = usage + spent, total + made, refused + aside
            left = max(left - made - aside, 0)
            if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=total, total=total + left)):
                return  # cancelled; the vectors so far stay
    switch_if_complete(collection, ports.embeddings.model, ports)
    hand_in(claim, request, EmbedNotes(total=total, refused=refused, usage=usage.noted()), ENDING, ports)
    for model in models if total else ():
        # This may take a while, and no caller waits for it.
        ports.conversation_passages.index_if_large(collection, model=model.model, dimensions=model.dimensions)


def models_to_embed_with(searched_by: str | None, ports: ConversationPorts) -> Sequence[Embeddings]:
    """Return the models that embed sessions: the workers' own, then the previous one while it is still compared."""
    if ports.former is None or searched_by != ports.former.embeddings.model or searched_by == ports.embeddings.model:
        return [ports.embeddings]
    return [ports.embeddings, ports.former.embeddings]


def model_to_compare(searched_by: str, ports: ConversationPorts) -> Embeddings:
    """Return the model that a question is embedded by.

    Raises:
        Refused: Searches still compare the vectors of a model that the workers cannot reach any more.
    """
    if searched_by == ports.embeddings.model:
        return ports.embeddings
    if ports.former is not None and searched_by == ports.former.embeddings.model:
        return ports.former.embeddings
    raise Refused(
        f"the vectors are of the model {searched_by!r}: run `querymill reembed conversations` for this collection"
    )


def embed_pending(
    collection: str,
    model: Embeddings,
    session_ids: Sequence[str] | None,
    caller: Caller,
    ports: ConversationPorts,
) -> Iterator[tuple[int, int, Usage]]:
    """Embed the pending passages of sessions, or of all, some at a time.

    Yields:
        After each call how many passages were embedded, how many were refused, and the usage.
    """
    stored = ports.conversation_passages
    while pending := stored.pending(collection, model=model.model, limit=BATCH, session_ids=session_ids):
        yield embed_batch(collection, pending, model, caller, ports)


def embed_batch(
    collection: str,
    passages: Sequence[PendingPassage],
    model: Embeddings,
    caller: Caller,
    ports: ConversationPorts,
) -> tuple[int, int, Usage]:
    """Embed passages and store their vectors; set aside those that the provider refuses."""
    stored = ports.conversation_passages
    embedded, usage = embed_each([passage.text for passage in passages], model, input_type="passage", caller=caller)
    vectors = [None if isinstance(result, Refusal) else result for result in embedded]
    refused = [
        AsideText(passage.session_id, passage.key, model.model, result.reason)
        for passage, result in zip(passages, embedded, strict=True)
        if isinstance(result, Refusal)
    ]
    if not refused:
        stored.fill(collection, passages, vectors, model=model.model)
        return len(passages), 0, usage
    subjects = [Subject(session_id) for session_id in sorted({text.document for text in refused})]
    with ports.ledger.changing(collection, KIND, subjects, _NO_VERSION, whole=False):
        # Of a session that was forgotten meanwhile, no text is listed as set aside.
        left = {(each.session_id, each.key) for each in stored.still_pending(collection, passages, model=model.model)}
        stored.fill(collection, passages, vectors, model=model.model)
        ports.set_aside.add(collection, KIND, [text for text in refused if (text.document, text.passage) in left])
    return len(passages) - len(refused), len(refused), usage


def switch_if_complete(collection: str, model: str, ports: ConversationPorts) -> bool:
    """Have searches compare a model once no passage waits for a vector of it, and drop the vectors of others."""
    stored = ports.conversation_passages
    former = stored.searched_by(collection)
    if former == model:
        return True
    if not stored.switch(collection, model=model):
        return False
    # If the worker dies here, what is left does no harm, and goes with its session.
    stored.drop_other_models(collection, model=model)
    if former is not None:
        stored.drop_index(collection, model=former)
    return True


def submit_embedding(
    collection: str,
    passages: Mapping[str, int],
    ports: ConversationPorts,
    *,
    lane: Lane,
    token: str,
    settle_s: float = 0.0,
) -> tuple[Sequence[str], Sequence[Bell]]:
    """Submit jobs that embed those sessions in which a vector is missing, several sessions in each.

    ``passages`` tells about how many passages each session has. A session for which a job of an earlier write waits is
    left to that one. A job begins ``settle_s`` seconds after it is submitted. Returns the ids of all these jobs, and
    the bells of new ones.
    """
    if not passages:
        return [], []
    searched_by = ports.conversation_passages.searched_by(collection)
    names = [model.model for model in models_to_embed_with(searched_by, ports)]
    # The sessions of a job have one token, by which a later write of any of them finds the job.
    tokens = {id_: _digest(f"{token}\n{part[0]}") for part in parts_of(passages) for id_ in part}
    waiting = ports.conversation_passages.await_embedding(collection, tokens, models=names)
    sessions = defaultdict[str, list[str]](list)
    for id_ in tokens:
        if id_ in waiting:
            sessions[waiting[id_]].append(id_)
    lane = Lane.NORMAL if lane is Lane.INTERACTIVE else lane  # that one is kept for questions
    jobs, bells = list[str](), list[Bell]()
    for asked, ids in sessions.items():
        request = EmbedConversations(collection=collection, session_ids=tuple(ids), lane=lane, settle_s=settle_s)
        job_id, rung = submit_once(request, f"embed conversations {asked} {lane}", ports)
        jobs += [] if job_id is None else [job_id]
        bells += rung
    return jobs, bells


def submit_what_lacks(collection: str, ports: ConversationPorts, *, token: str) -> Sequence[Bell]:
    """Submit jobs for the sessions that lack a vector and that no job waits for, and return their bells.

    It is what an earlier release stored, or what a job left that failed.
    """
    lacking = ports.conversation_passages.lacking(collection, model=ports.embeddings.model, unawaited=True)
    return submit_embedding(collection, lacking, ports, lane=Lane.BULK, token=token)[1]


def parts_of(passages: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Cut sessions into parts of about `JOB_PASSAGES` passages, in their order.

    For example, sessions of 100, 100, 100 and 1,000 passages become parts of two sessions, one and one.
    """
    part: list[str] = []
    total = 0
    for session_id, count in passages.items():
        if part and (total + count > JOB_PASSAGES or len(part) == MAX_DOCUMENTS):
            yield tuple(part)
            part, total = [], 0
        part.append(session_id)
        total += count
    if part:
        yield tuple(part)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def refused_by(model: str, refused: int) -> tuple[Degradation, ...]:
    """Say how many passages have no vector because the provider refused them."""
    if not refused:
        return ()
    reason = f"{model} refused {refused} passages; see `querymill status --set-aside`"
    return (Degradation(stage="embed", reason=reason, code="provider_refused"),)


def to_result(request: EmbedConversations, picture: Picture, notes: EmbedNotes) -> EmbedConversationsResult:
    """Build the result from the notes."""
    return EmbedConversationsResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        total=notes.total,
        usage=notes.usage,
        complete=not notes.refused,
        degraded=refused_by("the provider", notes.refused),
    )


ENDING: Final = Ending(EmbedNotes, to_result)
