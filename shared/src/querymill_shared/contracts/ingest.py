"""Ingesting documents of one kind, as many as one job holds, and extending sessions. Each has an outcome of its own."""

from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, TypeVar

from pydantic import AfterValidator, Field, model_validator

from querymill_shared.contracts.fields import (
    Contract,
    Growing,
    Id,
    Lane,
    Moment,
    Name,
    NoDeadline,
    Request,
    RequestLane,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.sessions import MAX_MESSAGES, ChatMessage
from querymill_shared.queues import Queue

#: Documents of one job: some seconds of work for one worker.
MAX_DOCUMENTS: Final = 256
#: Characters of text in one job. A single document may have more.
MAX_CHARS: Final = 2_000_000

IngestOutcome = Literal["ingested", "unchanged", "superseded", "forgotten", "failed"]


class Ingestible(Protocol):
    """A document, or what is added to one."""

    @property
    def document_id(self) -> str:
        """The document's id as text."""
        ...

    @property
    def chars(self) -> int:
        """The length of its texts."""
        ...


D = TypeVar("D", bound=Ingestible)


def fit_one_job(documents: tuple[D, ...]) -> tuple[D, ...]:
    """Return the documents of one job.

    Raises:
        ValueError: An id occurs twice, or there is too much text.
    """
    ids = [document.document_id for document in documents]
    if len(set(ids)) != len(ids):
        raise ValueError("every id must occur once")
    if len(documents) > 1 and sum(document.chars for document in documents) > MAX_CHARS:
        raise ValueError(f"texts must be at most {MAX_CHARS} characters together")
    return documents


#: The documents of one job. One is a list of one.
Documents = Annotated[
    tuple[D, ...],
    Field(min_length=1, max_length=MAX_DOCUMENTS, description="documents to store; no id may occur twice"),
    AfterValidator(fit_one_job),
]


class Ingest(Request):
    """Base class of the requests that ingest documents: one for each kind of retriever.

    When the job ends, the documents are found by their words; jobs that follow make their vectors. The same content
    again changes nothing. Of several documents, one that cannot be stored fails alone; of one, the job fails.
    """

    queue: ClassVar[Queue] = Queue.INGEST
    lane: RequestLane = Lane.BULK
    documents: tuple[Any, ...]
    deadline: NoDeadline = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step. A later attempt finds the documents unchanged that an earlier one stored."""
        return ("ingest",)


class SessionExtension(Contract):
    """New messages of a session, or edited ones.

    Of `messages`: they come after the ``after`` messages that are stored. Of `conversations`: each has an id, and
    replaces the stored message with this id, or else is added at the end.

    Attributes:
        session_id: id of the session that is extended
        user_name: conversations: the new name of the user; null: the stored one stays
        started_at: conversations: when the session began; null: the stored time stays, and a new session begins with
            its earliest message
        messages: new or edited messages, in their order
    """

    session_id: Id
    after: Annotated[int | None, Field(ge=1, le=MAX_MESSAGES, description="messages: how many are stored")] = None
    name: Annotated[Name | None, Field(description="conversations: the new name; null: the stored one stays")] = None
    user_name: Name | None = None
    started_at: Moment | None = None
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=MAX_MESSAGES)]

    @property
    def document_id(self) -> str:
        """The session's id."""
        return self.session_id

    @property
    def chars(self) -> int:
        """The length of the new texts."""
        return sum(len(message.text) for message in self.messages)


class Extend(Request, Asks["ExtendResult"]):
    """Add messages to sessions without those that are stored. Sending the same again has the effect of once.

    A session of `messages` of which another number of messages is stored is "superseded" and stays as it is: it must be
    ingested whole.

    Attributes:
        retriever: kind of the sessions
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["extend"] = "extend"
    lane: RequestLane = Lane.NORMAL
    retriever: Literal["messages", "conversations"]
    documents: Annotated[
        Documents[SessionExtension], Field(description="sessions to extend; no session may occur twice")
    ]
    deadline: NoDeadline = None

    @model_validator(mode="after")
    def _fits_the_retriever(self) -> "Extend":
        for place, session in enumerate(self.documents):
            if self.retriever == "messages":
                _check_of_messages(session, f"documents.{place}")
            else:
                _check_of_conversations(session, f"documents.{place}")
        return self

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step, which may be repeated."""
        return ("extend",)


def _check_of_messages(session: SessionExtension, place: str) -> None:
    if session.after is None:
        raise ValueError(f"{place}.after: must say how many messages of the session are stored")
    for name in ("name", "user_name", "started_at"):
        if getattr(session, name) is not None:
            raise ValueError(f"{place}.{name}: is for conversations; ingest the session whole")


def _check_of_conversations(session: SessionExtension, place: str) -> None:
    if session.after is not None:
        raise ValueError(f"{place}.after: is for messages")
    ids = [message.message_id for message in session.messages]
    if None in ids:
        raise ValueError(f"{place}.messages: every message needs a message_id")
    if len(set(ids)) != len(ids):
        raise ValueError(f"{place}.messages: every message_id must occur once")


class IngestedDocument(Contract):
    """What became of one document. One that failed does not affect the other documents of its job.

    Attributes:
        document: id of the document
        outcome: what became of it; "superseded": a newer version is stored; "forgotten": it was dropped after the job
            had been accepted
        total: parts of the document, such as chunks, messages or modules; 0 if a kind does not count those of an
            unchanged one
        reason: why it failed, in words; empty: it did not fail
    """

    document: str
    outcome: Annotated[IngestOutcome, Growing]
    total: int = 0
    reason: str = ""


class IngestResult(JobResult):
    """Base class of their results: the outcome of each document, in the order of the request.

    ``total`` counts the parts of all documents. ``complete`` is false if a document failed.
    """

    collection: str = Field(description="collection that the documents went into")
    documents: tuple[IngestedDocument, ...] = Field(description="what became of each document of the request, in order")
    embedding_jobs: Annotated[
        tuple[str, ...], Field(description="ids of the jobs that make the missing vectors; empty: none is needed")
    ] = ()


class ExtendResult(IngestResult):
    """The outcome of each session."""

    kind: Literal["extend"] = "extend"
