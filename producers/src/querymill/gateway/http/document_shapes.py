"""What the routes of collections, uploads and batches answer, as the OpenAPI document describes it."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from querymill.gateway.http.problems import BrokenRule
from querymill_shared.contracts.filters import Retriever


class CollectionBody(BaseModel):
    """A collection.

    Attributes:
        name: the name that requests have for it
        kinds: the kinds that it holds something of
    """

    name: str
    kinds: Sequence[Retriever]


class CollectionList(BaseModel):
    """What a key may see.

    Attributes:
        collections: the collections that the key may see
    """

    collections: list[CollectionBody]


class RejectedLine(BrokenRule):
    """A line that was not accepted.

    Attributes:
        line: its number, from 1; 0 for a whole file
    """

    line: int


class ReadDocument(BaseModel):
    """A document that was read as it is.

    Attributes:
        id: id of the report: the one that was given, else a hash of the content
        format: format that was recognised, such as pdf
        pages: how many pages, slides, sheets or sections were read
        title: title of the report: given, else proposed by the document, else its id
        company: whom it is about: given, else proposed by the document; null: neither
        period: period that it covers, such as 2022 Q3: given, else proposed by the document; null: neither
        published_at: day of publication, such as 2022-05-20: given, else proposed by the document; null: neither
        remarks: what was left out or read otherwise, where and why; at most 100
    """

    id: str
    format: str
    pages: int
    title: str
    company: str | None
    period: str | None
    published_at: str | None
    remarks: list[str]


class UploadBody(BaseModel):
    """What became of the lines of an upload."""

    batch: Annotated[str, Field(description="id of the batch, for `/v1/batches/{batch}`")]
    accepted: Annotated[int, Field(description="how many documents were accepted; the jobs of the batch store them")]
    rejected: Annotated[int, Field(description="how many lines were not accepted")]
    first_rejected: Annotated[list[RejectedLine], Field(max_length=100, description="the first 100 of those")]
    documents: list[ReadDocument] = Field(
        default_factory=list, description="what was read as it is, such as a PDF; empty for lines"
    )
    links: Annotated[dict[str, str], Field(description="addresses of the batch, and of the documents of its kind")]


class FailedDocument(BaseModel):
    """A document that its job could not store.

    Attributes:
        document: id of the document
        reason: why it could not be stored, in words; empty if that is unknown
    """

    document: str
    reason: str


class UploadOutcome(UploadBody):
    """What became of an upload whose ingestion has ended.

    Attributes:
        jobs: how many jobs of the batch are in each state
        stored: how many documents are stored
        failed: how many could not be stored though others of their job were
        first_failed: the first 100 of those
    """

    jobs: dict[str, int]
    stored: int
    failed: int
    first_failed: Annotated[list[FailedDocument], Field(max_length=100)]


class BatchBody(BaseModel):
    """How far a batch is.

    Attributes:
        batch: id of the batch
        collection: collection that its documents go into
        kind: kind of its documents
        jobs: how many of its jobs are in each state
        gone: how many jobs ended so long ago that they are forgotten
        accepted: how many documents its jobs have so far
        stored: how many documents are stored: those of jobs that are done or gone, without the `failed`
        failed: how many could not be stored though others of their job were
        first_failed: the first 100 of those
        rejected: how many lines or files were not accepted
        first_rejected: the first 100 of those
        began_at: when it began, in seconds since the epoch
        is_open: whether lines are still read
    """

    batch: str
    collection: str
    kind: str
    jobs: dict[str, int]
    gone: int
    accepted: int = 0
    stored: int = 0
    failed: int = 0
    first_failed: Annotated[list[FailedDocument], Field(max_length=100)] = []
    rejected: int = 0
    first_rejected: Annotated[list[RejectedLine], Field(max_length=100)] = []
    began_at: float = 0.0
    is_open: bool = False


class Dropped(BaseModel):
    """What was dropped.

    Attributes:
        outcome: forgotten, or absent if there was no such document
        total: how many documents were dropped
    """

    outcome: str
    total: int


class Matches(BaseModel):
    """What would be dropped.

    Attributes:
        matches: how many documents the filter matches, or all of the kind without one
    """

    matches: int
