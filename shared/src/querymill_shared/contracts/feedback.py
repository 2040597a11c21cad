"""The `feedback` and `list_feedback` kinds: what people say of hits is kept as judgements, and listed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from querymill_shared.contracts.documents import DocumentKey
from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    FilePath,
    Lane,
    Name,
    NoDeadline,
    Request,
    RequestLane,
    without_nul,
)
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Judgements in one request.
MAX_JUDGEMENTS: Final = 200
#: 0: not relevant, 1: somewhat, 2: relevant, 3: exactly what was asked for. These are the grades of qrels.
Relevance = Annotated[
    int,
    Field(ge=0, le=3, description="0: not relevant, 1: somewhat, 2: relevant, 3: exactly what was asked for"),
]
Comment = Annotated[
    str, Field(max_length=2_000, description="what else is to be said of the hit"), AfterValidator(without_nul)
]


class HitJudgement(Contract):
    """How relevant a hit of a search is to its question."""

    hit: Annotated[FilePath, Field(description="the hit's id, as the result and the console name it")]
    document: Annotated[DocumentKey, Field(description="the document that the hit is a part of")]
    place: Annotated[
        str,
        Field(max_length=1_000, description="page of a report or id of a message that is judged; empty: the document"),
    ] = ""
    relevance: Relevance
    comment: Comment = ""


class GiveFeedback(Request, Asks["FeedbackResult"]):
    """Keep judgements of the hits of a search. A later judgement of the same hit of a job replaces the earlier one.

    `querymill eval feedback` asks the search again. Judgements of a document are deleted with it.

    Attributes:
        judgements: how relevant hits of the search are, each judged on its own
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["feedback"] = "feedback"
    lane: RequestLane = Lane.NORMAL
    job: Annotated[Name, Field(description="id of the search")]
    asked: Annotated[
        KindSearch,
        # A kind has its default in Python, where the class names it. Over the wire it says which search this is.
        Field(description="the request of the search", discriminator="kind", json_schema_extra={"required": ["kind"]}),
    ]
    judgements: Annotated[tuple[HitJudgement, ...], Field(min_length=1, max_length=MAX_JUDGEMENTS)]
    deadline: NoDeadline = None

    @model_validator(mode="after")
    def _is_of_its_collection(self) -> Self:
        if self.asked.collection != self.collection:
            raise ValueError("collection: must be that of the search")
        return self

    @property
    def of(self) -> Retriever:
        """The kind of the search."""
        return self.asked.kind

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step."""
        return ("keep",)


class FeedbackResult(JobResult):
    """``total`` counts the judgements that are kept. Those of documents that were deleted since are not.

    Attributes:
        collection: collection of the search
    """

    kind: Literal["feedback"] = "feedback"
    collection: str


class ListFeedback(Request, Asks["FeedbackList"]):
    """List the judgements of a collection, in the order of their searches.

    Attributes:
        after: `cursor` of the page before, which this page goes on from; null: the first page
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["list_feedback"] = "list_feedback"
    of: Annotated[Retriever, Field(description="the kind of the searches")]
    limit: Annotated[int, Field(ge=1, le=1_000, description="judgements on the page")] = 1_000
    after: Annotated[str, Field(max_length=2_000)] | None = None
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step."""
        return ("list",)


class KeptJudgement(Contract):
    """A judgement, with the search that it is about.

    Attributes:
        job: id of the search
        asked: request of the search
        hit: id of the hit, as the result of the search names it
        document: id of the document that the hit is a part of
        place: page of a report or id of a message that is judged; empty: the document
        relevance: 0: not relevant, 1: somewhat, 2: relevant, 3: exactly what was asked for
        comment: what else was said of the hit; empty: nothing
        at: when the judgement was given
    """

    job: str
    asked: Mapping[str, Any]
    hit: str
    document: str
    place: str
    relevance: int
    comment: str
    at: datetime


class FeedbackList(JobResult):
    """A page of judgements. ``total`` counts all judgements, on every page.

    Attributes:
        of: kind of the searches
        collection: collection of the searches
        judgements: judgements of this page, in the order of their searches
        cursor: `after` of the next page; null: this page is the last
    """

    kind: Literal["list_feedback"] = "list_feedback"
    of: Retriever
    collection: str
    judgements: tuple[KeptJudgement, ...]
    cursor: str | None = None
