"""Loading: ingest many documents of one kind in one job. Each document has an outcome of its own."""

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Final, Literal, Protocol, TypeVar

from querymill_shared.contracts.fields import Contract, Growing, Lane, Request
from querymill_shared.contracts.results import JobResult
from querymill_shared.contracts.sessions import ChatMessage
from querymill_shared.queues import Queue

#: Documents of one job: some seconds of work for one worker.
MAX_DOCUMENTS: Final = 256
#: Characters of text in one job. A single document may have more.
MAX_CHARS: Final = 2_000_000

LoadOutcome = Literal["ingested", "unchanged", "superseded", "forgotten", "failed"]


class Load(Request):
    """Base class of the requests that ingest many documents. No id may occur twice among them."""

    queue: ClassVar[Queue] = Queue.INGEST
    lane: Lane = Lane.BULK
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of loading. A later attempt finds the documents unchanged that an earlier one stored."""
        return ("load",)


class LoadedDocument(Contract):
    """What became of one document. ``reason`` says why it failed. The other documents of its job are not affected.

    ``total`` counts its parts, as the result of a job of its own does. ``superseded``: a newer version of it is stored.
    ``forgotten``: it was dropped after the job had been accepted.
    """

    document: str
    outcome: Annotated[LoadOutcome, Growing]
    total: int = 0
    reason: str = ""


class LoadResult(JobResult):
    """Base class of their results: the outcome of each document, in the order of the request.

    ``total`` counts the parts of all documents. ``complete`` is false if a document failed. ``embedding_jobs`` are the
    ids of the jobs that make the missing vectors.
    """

    documents: tuple[LoadedDocument, ...]
    embedding_jobs: tuple[str, ...] = ()


class Sent(Protocol):
    """A session, or what is added to one."""

    @property
    def session_id(self) -> str:
        """The session's id."""
        ...

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The messages that are sent."""
        ...


S = TypeVar("S", bound=Sent)


def fit_sessions(name: str) -> Callable[[tuple[S, ...]], tuple[S, ...]]:
    """Return what checks the sessions of one job, as `fit_one_job` does."""

    def fit(sent: tuple[S, ...]) -> tuple[S, ...]:
        chars = [sum(len(message.text) for message in each.messages) for each in sent]
        fit_one_job([each.session_id for each in sent], chars, name=name)
        return sent

    return fit


def fit_one_job(ids: Sequence[str], chars: Sequence[int], *, name: str) -> None:
    """Check the documents of one job.

    Raises:
        ValueError: An id occurs twice, or there is too much text. The message names the field ``name``.
    """
    if len(set(ids)) != len(ids):
        raise ValueError(f"{name}: every id must occur once")
    if len(chars) > 1 and sum(chars) > MAX_CHARS:
        raise ValueError(f"{name}: texts must be at most {MAX_CHARS} characters together")
