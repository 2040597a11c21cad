"""The events of a job, one class per type."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, PrivateAttr, TypeAdapter, ValidationError

from querymill_shared.contracts.codes import OptionalCode
from querymill_shared.contracts.fields import Contract, Growing, from_board


class JobEvent(Contract):
    """Base class of all events. Two events are equal if they say the same, whenever that was."""

    _id: str = PrivateAttr(default="")

    @property
    def id(self) -> str:
        """The id in the job's stream, after which it can be followed again. "" before the board gave one."""
        return self._id

    def with_id(self, event_id: str) -> Self:
        """Return the event with its id in the stream."""
        self._id = event_id
        return self

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), self.model_dump_json()))


class Queued(JobEvent):
    """The job was accepted."""

    type: Literal["queued"] = "queued"
    stages: tuple[str, ...]


class StageStarted(JobEvent):
    """A worker started a step."""

    type: Literal["stage_started"] = "stage_started"
    stage: str
    attempt: int


class StageFinished(JobEvent):
    """A step ended: it is done, it failed with a reason, or it will be retried."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: str
    state: Annotated[Literal["done", "failed", "retrying"], Growing]
    ms: float | None = None
    reason: str | None = None
    code: OptionalCode = None


#: Characters of a hit so far that are told, and the hits that come with a text.
TOLD_CHARS: Final = 300
TOLD_TEXTS: Final = 10


class PartialHit(Contract):
    """A hit of the ranking so far: its key and its current score.

    The best ones of reports and messages come with the beginning of their ``text``, those of reports with their
    ``page``.
    """

    key: str
    score: float
    title: str | None = None
    page: int | None = None
    text: str | None = None


class Hits(JobEvent):
    """The ranking so far, before every step has finished."""

    type: Literal["hits"] = "hits"
    after_stage: str
    total: int
    hits: tuple[PartialHit, ...]


class Progress(JobEvent):
    """How far a long step has come, in units that depend on the step."""

    type: Literal["progress"] = "progress"
    stage: str
    done: int
    total: int


class SearchRound(JobEvent):
    """One round of an iterative search: its queries, the number of files it judged, and its results.

    ``bands`` counts the files of this round by band. ``files`` are its high and medium files, best first. ``gaps``
    are names that high files use but no retrieved file defines. ``stop`` says why no further round follows.
    """

    type: Literal["search_round"] = "search_round"
    round: int
    queries: tuple[str, ...]
    evaluated: int
    bands: dict[str, int]
    files: tuple[PartialHit, ...]
    gaps: tuple[str, ...]
    stop: str | None = None


class AnswerPart(JobEvent):
    """A part of an answer that is being written.

    ``text`` starts at character ``offset`` of the answer and replaces everything from there on. If the model starts
    over, ``offset`` is 0. So the answer so far is always ``so_far[:offset] + text``.
    """

    type: Literal["answer"] = "answer"
    stage: str
    attempt: int
    offset: int
    text: str


class Done(JobEvent):
    """The job ended, and its result is on the board."""

    type: Literal["done"] = "done"
    complete: bool


class Failed(JobEvent):
    """The job ended without a result."""

    type: Literal["failed"] = "failed"
    reason: str
    code: OptionalCode = None


class Cancelled(JobEvent):
    """The job was cancelled."""

    type: Literal["cancelled"] = "cancelled"


#: The events that a step reports while it runs.
ProgressEvent = Hits | Progress | SearchRound | AnswerPart
Event = Queued | StageStarted | StageFinished | ProgressEvent | Done | Failed | Cancelled
#: The last event of a job is one of these.
LAST = (Done, Failed, Cancelled)

#: What reads any of them. Its type says which it is.
ANY_EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


def decode_event(body: str | bytes | dict[str, Any]) -> Event | None:
    """Read an event from JSON or from the decoded object. Return None if this release does not know such events."""
    try:
        return from_board(ANY_EVENT, body)
    except ValidationError:
        return None
