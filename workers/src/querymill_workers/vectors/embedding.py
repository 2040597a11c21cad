"""Embed the passages of documents that have no vector, in jobs that every write of documents submits.

At most one job waits for a document: a change while it waits submits no other, and the waiting job embeds the change.
What is pending is read again before every call, so a document that is dropped is not embedded any further. A refusal
is stored in place of the vector, and the other passages go on. If a worker dies, the next attempt resumes.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.ingest import MAX_DOCUMENTS
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.vectors import EmbedDocuments, EmbedDocumentsResult
from querymill_shared.values import value
from querymill_workers.inference.ports import Embeddings
from querymill_workers.inference.refusals import TextRefusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.vectors.ports import WHOLE, CollectionPart, Passage, RefusedEmbedding, VectorPorts
from querymill_workers.versions.ports import Version, WrittenDocument

#: Pending passages listed at a time.
LISTED: Final = 512
#: Passages that one job embeds of many documents: a few at a time, so that the workers share those of a load.
JOB_PASSAGES: Final = 256
#: Embedding writes no version of a document: it only keeps others from changing it.
_NO_VERSION: Final = Version(0, "")


@value
class Embeddable:
    """All that a retriever says of how its passages are embedded.

    ``batch``: texts per embedding call. Small, so that a question does not wait long behind a call on a shared server,
    and so that few texts of a dropped document are still sent. ``unasked``: a collection of more passages has no
    vectors until they are asked for; None: every collection has them.
    """

    retriever: Retriever
    batch: int
    unasked: int | None = None


@value
class Embedded:
    """What became of passages: how many got a vector, how many were refused, and the provider calls and tokens."""

    made: int = 0
    refused: int = 0
    usage: ProviderUsage = field(default_factory=ProviderUsage)

    def __add__(self, other: "Embedded") -> "Embedded":
        return Embedded(self.made + other.made, self.refused + other.refused, self.usage + other.usage)


class EmbedNotes(Notes):
    """How many vectors the job made, how many passages still wait or were refused, and provider calls and tokens."""

    total: int
    pending: int
    refused: int
    usage: dict[str, int]


def embed_documents(claim: Claim, request: EmbedDocuments, target: Embeddable, ports: VectorPorts) -> None:
    """Embed what is pending in the documents, with each model that their collection needs."""
    collection, documents = request.collection, request.documents or None
    vectors, own = ports.vectors[target.retriever], ports.embeddings
    if claim.age_s < request.settle_s:
        wait = request.settle_s - claim.age_s
        ports.board.postpone(claim, delay_s=wait, reason="waiting for more changes", cause="pause")
        return
    vectors.begin_embedding(collection, documents)
    # A job that names no documents is how vectors are asked for.
    makes_first = documents is None or bool(models_to_embed_with(target, collection, ports))
    if (
        makes_first
        and vectors.active_model(collection) is None
        and vectors.pending(collection, model=own.model, limit=1, documents=documents)
    ):  # else the collection may have been dropped since
        vectors.active_model(collection, first=own.model)
    models, embedded = models_to_embed_with(target, collection, ports), Embedded()
    for model in models:
        left = vectors.counts(collection, model=model.model, documents=documents).pending
        for step in embed_pending(
            target, collection, model, Caller.of(claim, request, ports), ports, documents=documents
        ):
            embedded, left = embedded + step, max(left - step.made - step.refused, 0)
            done = embedded.made + embedded.refused
            if not ports.board.append_event(claim.job_id, Progress(stage=claim.step, done=done, total=done + left)):
                return  # cancelled; the vectors so far stay
    if models and switch_if_complete(target, collection, own.model, ports) and len(models) > 1:
        # Another job may have switched, and dropped them, before this one made its last ones.
        vectors.drop_other_models(collection, model=own.model)
    pending = vectors.counts(collection, model=own.model, documents=documents).pending if models else 0
    notes = EmbedNotes(
        total=embedded.made, pending=pending, refused=embedded.refused, usage=embedded.usage.noted()
    )  # fmt: skip
    hand_in(claim, request, notes, ENDING, ports)
    for model in models if embedded.made else ():
        # This may take a while, and no caller waits for it.
        vectors.index_if_large(collection, model=model.model, dimensions=model.dimensions)


def models_to_embed_with(target: Embeddable, collection: str, ports: VectorPorts) -> Sequence[Embeddings]:
    """Return the models that embed new passages: the workers' own, then the previous one while searches compare it.

    The workers' own model comes first, so that the switch to it misses no passage. A collection that is too large to
    get vectors unasked, and has none, is embedded with none.
    """
    vectors, own = ports.vectors[target.retriever], ports.embeddings
    active = vectors.active_model(collection)
    if active is None:
        if target.unasked is None:
            return [own]
        return [own] if 0 < vectors.counts(collection, model=own.model).passages <= target.unasked else []
    if ports.previous is None or active != ports.previous.embeddings.model or active == own.model:
        return [own]
    return [own, ports.previous.embeddings]


def embed_pending(
    target: Embeddable,
    collection: str,
    model: Embeddings,
    caller: Caller,
    ports: VectorPorts,
    *,
    documents: Collection[str] | None = None,
    part: CollectionPart = WHOLE,
) -> Iterator[Embedded]:
    """Embed the pending passages of documents, or of all, some at a time. Yield after each call what became of them."""
    vectors = ports.vectors[target.retriever]
    listed: Sequence[Passage] = ()
    while True:
        after = listed[-1] if listed else None
        listed = vectors.pending(
            collection, model=model.model, limit=LISTED, documents=documents, part=part, after=after
        )  # fmt: skip
        for start in range(0, len(listed), target.batch):
            # Read again: of a document that was dropped or changed since, nothing is sent to the provider any more.
            some = vectors.still_pending(collection, listed[start : start + target.batch], model=model.model)
            if some:
                yield embed_batch(target, collection, some, model, caller, ports)
        if len(listed) < LISTED:
            return


def embed_batch(
    target: Embeddable,
    collection: str,
    passages: Sequence[Passage],
    model: Embeddings,
    caller: Caller,
    ports: VectorPorts,
) -> Embedded:
    """Embed passages and store their vectors, or why the provider refused them."""
    vectors = ports.vectors[target.retriever]
    texts = [passage.text for passage in passages]
    found, usage = embed_each(texts, model, input_type="passage", caller=caller)
    results = {
        passage: RefusedEmbedding(result.reason) if isinstance(result, TextRefusal) else result
        for passage, result in zip(passages, found, strict=True)
    }
    refused = [passage for passage, result in results.items() if isinstance(result, RefusedEmbedding)]
    if not refused:
        vectors.fill(collection, results, model=model.model)
        return Embedded(len(passages), 0, usage)
    subjects = [WrittenDocument(document) for document in sorted({passage.document for passage in refused})]
    with ports.versions.changing(collection, target.retriever, subjects, _NO_VERSION, whole=False):
        vectors.fill(collection, results, model=model.model)
    return Embedded(len(passages) - len(refused), len(refused), usage)


def switch_if_complete(target: Embeddable, collection: str, model: str, ports: VectorPorts) -> bool:
    """Have searches compare a model once no passage waits for a vector of it, and drop the vectors of others."""
    vectors = ports.vectors[target.retriever]
    previous = vectors.active_model(collection)
    if previous == model:
        return True
    if not vectors.switch(collection, model=model):
        return False
    # If the worker dies here, what is left does no harm, and goes with its document.
    vectors.drop_other_models(collection, model=model)
    if previous is not None:
        vectors.drop_index(collection, model=previous)
    return True


def submit_embedding(
    target: Embeddable,
    collection: str,
    passages: Mapping[str, int],
    ports: VectorPorts,
    *,
    lane: Lane,
    token: str,
    settle_s: float = 0.0,
) -> tuple[Sequence[str], Sequence[Bell]]:
    """Submit jobs that embed those documents in which a vector is missing, several documents in each.

    ``passages`` is the number of passages of each document, roughly. A document for which a job of an earlier write
    waits is left to that one. A job begins ``settle_s`` seconds after it was submitted. Returns the ids of all these
    jobs, and the bells of new ones.
    """
    models = [model.model for model in models_to_embed_with(target, collection, ports)]
    if not passages or not models:
        return [], []
    # The documents of a job have one token, by which a later write of any of them finds the job.
    tokens = {id_: _digest(f"{token}\n{part[0]}") for part in parts_of(passages) for id_ in part}
    waiting = ports.vectors[target.retriever].await_embedding(collection, tokens, models=models)
    documents = defaultdict[str, list[str]](list)
    for id_ in tokens:
        if id_ in waiting:
            documents[waiting[id_]].append(id_)
    lane = Lane.NORMAL if lane is Lane.INTERACTIVE else lane  # that one is kept for questions
    jobs, bells = list[str](), list[Bell]()
    for asked, ids in documents.items():
        request = EmbedDocuments(
            collection=collection, retriever=target.retriever, documents=tuple(ids), lane=lane, settle_s=settle_s
        )
        job_id, rung = submit_once(request, f"embed {target.retriever} {asked} {lane}", ports)
        jobs += [] if job_id is None else [job_id]
        bells += rung
    return jobs, bells


def submit_what_lacks(target: Embeddable, collection: str, ports: VectorPorts, *, token: str) -> Sequence[Bell]:
    """Submit jobs for the documents that lack a vector and that no job waits for, and return their bells."""
    model = ports.embeddings.model
    lacking = ports.vectors[target.retriever].lacking(collection, model=model, unawaited=True)
    return submit_embedding(target, collection, lacking, ports, lane=Lane.BULK, token=token)[1]


def parts_of(passages: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Cut documents into parts of about `JOB_PASSAGES` passages, in their order.

    For example, documents of 100, 100, 100 and 1,000 passages become parts of two documents, one and one.
    """
    part: list[str] = []
    total = 0
    for document, count in passages.items():
        if part and (total + count > JOB_PASSAGES or len(part) == MAX_DOCUMENTS):
            yield tuple(part)
            part, total = [], 0
        part.append(document)
        total += count
    if part:
        yield tuple(part)


def refused_by(model: str, refused: int) -> tuple[Degradation, ...]:
    """Say how many passages have no vector because the provider refused them."""
    if not refused:
        return ()
    reason = f"{model} refused {refused} passages; see `querymill status --set-aside`"
    return (Degradation(stage="embed", reason=reason, code="provider_refused"),)


def to_result(request: EmbedDocuments, picture: Picture, notes: EmbedNotes) -> EmbedDocumentsResult:
    """Build the result from the notes."""
    return EmbedDocumentsResult(
        job_id=picture.record.job_id,
        retriever=request.retriever,
        collection=request.collection,
        total=notes.total,
        pending=notes.pending,
        usage=notes.usage,
        complete=not notes.refused,
        degraded=refused_by("the provider", notes.refused),
    )


ENDING: Final = Ending(EmbedNotes, to_result)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
