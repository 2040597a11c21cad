"""Embed the conversations of a collection with another model, beside the vectors that searches compare, then switch.

If the job is killed, the next attempt resumes: passages that have their vector are skipped. Those that the provider
refuses are tried again, set aside, and do not keep the collection from the switch.
"""

from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.conversations.life import ReembedConversations, ReembedConversationsResult
from querymill_shared.contracts.events import Progress
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Conflict, Mistaken, NotFound
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.conversations.embed import embed_pending, refused_by, switch_if_complete
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import KIND
from querymill_workers.retrievers.conversations.reindex import index_in_passages


class ReembedNotes(Notes):
    """How many vectors the job made, how many passages were refused, and the provider calls and tokens."""

    embedded: int
    refused: int
    usage: dict[str, int]


def step(claim: Claim, request: ReembedConversations, ports: ConversationPorts) -> None:
    """Embed all passages that have no vector of the model, also those that its provider refused before, and switch.

    Raises:
        Mistaken: The workers use another model.
        NotFound: The collection has no sessions.
        Conflict: Sessions were ingested meanwhile; their passages are embedded by the next attempt.
    """
    collection, model, stored = request.collection, ports.embeddings, ports.conversation_passages
    if request.model != model.model:
        raise Mistaken(f"model: must be the workers' embedding model {model.model!r} (got {request.model!r})")
    if ports.conversations.count(collection, {}) == 0:
        raise NotFound(f"collection: no conversations in {collection!r}")
    if claim.attempt == 1:
        index_in_passages(collection, ports)
        ports.set_aside.drop(collection, KIND, None, model=model.model)
        stored.retry(collection, model=model.model)
    usage, embedded, refused = Usage(), 0, 0
    total = stored.counts(collection, model=model.model).passages
    for made, aside, spent in embed_pending(collection, model, None, Caller.of(claim, request, ports), ports):
        usage, embedded, refused = usage + spent, embedded + made, refused + aside
        pending = stored.counts(collection, model=model.model).pending
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=total - pending, total=total)):
            return  # cancelled; the vectors so far stay
    stored.index_if_large(collection, model=model.model, dimensions=model.dimensions)
    if not switch_if_complete(collection, model.model, ports):
        raise Conflict("sessions were ingested while the collection was embedded")
    notes = ReembedNotes(embedded=embedded, refused=refused, usage=usage.noted())
    hand_in(claim, request, notes, ENDING, ports)


def to_result(request: ReembedConversations, picture: Picture, notes: ReembedNotes) -> ReembedConversationsResult:
    """Build the result."""
    return ReembedConversationsResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        model=request.model,
        total=notes.embedded,
        complete=not notes.refused,
        degraded=refused_by(request.model, notes.refused),
        usage=notes.usage,
    )


ENDING: Final = Ending(ReembedNotes, to_result)
