"""Embedding stored documents: what lacks a vector, or everything with another model."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, FiniteFloat

from querymill_shared.contracts.documents import DocumentKey
from querymill_shared.contracts.fields import Lane, Name, NoDeadline, Request, RequestLane
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.ingest import MAX_DOCUMENTS
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Parts of a collection that `Reembed` embeds side by side. Each is a step.
PARTS = 8


class EmbedDocuments(Request, Asks["EmbedDocumentsResult"]):
    """Embed the passages of documents that have no vector. Ingestion submits it. Nothing is embedded twice.

    Attributes:
        retriever: kind of the documents
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed_documents"] = "embed_documents"
    lane: RequestLane = Lane.BULK
    retriever: Retriever
    documents: Annotated[
        tuple[DocumentKey, ...],
        Field(max_length=MAX_DOCUMENTS, description="ids of the documents; empty for all of the collection"),
    ] = ()
    settle_s: Annotated[
        FiniteFloat,
        Field(ge=0, le=600, description="seconds to wait before embedding, so that further changes are embedded too"),
    ] = 0.0
    deadline: NoDeadline = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of embedding, which a later attempt resumes."""
        return ("embed",)


class EmbedDocumentsResult(JobResult):
    """What embedding did. ``total`` counts the vectors made.

    ``degraded`` tells how many texts the provider refused. They are found by their words.

    Attributes:
        retriever: kind of the documents
        collection: collection that they are in
        pending: passages of the documents that still wait for a vector
    """

    kind: Literal["embed_documents"] = "embed_documents"
    retriever: Retriever
    collection: str
    pending: int


class Reembed(Request, Asks["ReembedResult"]):
    """Embed all documents of a collection with another model, then search the collection by that model.

    The new vectors are stored next to those of the previous model, which searches compare until the switch. The switch
    is one statement. Texts that the provider refused before are tried again. Files without vectors get them by this,
    and go on getting them.

    Attributes:
        retriever: kind of the documents
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["reembed"] = "reembed"
    lane: RequestLane = Lane.BULK
    retriever: Retriever
    model: Annotated[Name, Field(description="the EMBEDDING_MODEL of the workers; its vectors may have any dimension")]
    deadline: NoDeadline = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return a step for each part of the collection. A later attempt resumes a part, and the last part switches."""
        return tuple(f"part-{number}" for number in range(PARTS))


class ReembedResult(JobResult):
    """The collection is searched by another model now. ``total`` counts the vectors made by the job.

    ``degraded`` tells how many texts the provider refused. They are found by their words.

    Attributes:
        retriever: kind of the documents
        collection: collection that they are in
        model: model that the collection is searched by now
    """

    kind: Literal["reembed"] = "reembed"
    retriever: Retriever
    collection: str
    model: str


class WeighVectors(Request, Asks["WeighVectorsResult"]):
    """Estimate what the vectors of a model are worth on a collection, beside its words.

    Ingestion and `Reembed` submit it once every passage has a vector, and again when the collection has doubled.
    Questions are drafted from passages of the collection, and looked for by words and by vectors. Searches weigh the
    vectors by the estimate from then on.

    Attributes:
        retriever: kind of the documents
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["weigh_vectors"] = "weigh_vectors"
    lane: RequestLane = Lane.BULK
    retriever: Retriever
    model: Annotated[
        Name | None, Field(description="model of the vectors that are weighed; null: the one that searches compare")
    ] = None
    deadline: NoDeadline = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step."""
        return ("weigh",)


class WeighVectorsResult(JobResult):
    """What the vectors are worth. ``total`` counts the questions that were drafted.

    Attributes:
        retriever: kind of the documents
        collection: collection that they are in
        model: model of the vectors
        weight: weight of the vectors in a search, beside 1 of the words; null if too few questions could be drafted, or
            they said nothing: then the weight of the kind holds
        low: lower bound of the weight, by resampling the questions (90 % interval)
        high: upper bound of the weight
        words: mean reciprocal rank of the passages that the questions were drafted from, by words
        vectors: the same, by vectors
    """

    kind: Literal["weigh_vectors"] = "weigh_vectors"
    retriever: Retriever
    collection: str
    model: str
    weight: float | None
    low: float
    high: float
    words: float
    vectors: float
