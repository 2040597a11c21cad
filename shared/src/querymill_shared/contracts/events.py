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
    """The job was accepted.

    Attributes:
        stages: names of the job's first steps; more may be added later
    """

    type: Literal["queued"] = "queued"
    stages: tuple[str, ...]


class StageStarted(JobEvent):
    """A worker started a step.

    Attributes:
        stage: name of the step
        attempt: number of the attempt at it, from 1
    """

    type: Literal["stage_started"] = "stage_started"
    stage: str
    attempt: int


class StageFinished(JobEvent):
    """A step ended, or an attempt at it.

    Attributes:
        stage: name of the step
        state: how it ended; "retrying": a further attempt follows
        ms: milliseconds that its work took; null: unknown, or it will be retried
        reason: why it failed or will be retried, in words; null: no reason was given
    """

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
    """A hit of the ranking so far.

    Attributes:
        key: id of the hit: of a file its path, of a rerank your own, of a `search` kind/collection#rank
        score: current score of the hit, of the kind's own scale; of a file its relevance, from 0 to 1
        title: title of the hit's report; null for other kinds
        page: page of the hit's report; null for other kinds
        text: beginning of the text of the best hits, up to 300 characters; null: not told
    """

    key: str
    score: float
    title: str | None = None
    page: int | None = None
    text: str | None = None


class Hits(JobEvent):
    """The ranking so far, before every step has finished.

    Attributes:
        after_stage: name of the step, or of its phase, that the ranking comes after
        total: hits in the ranking so far
        hits: the best of them, best first
    """

    type: Literal["hits"] = "hits"
    after_stage: str
    total: int
    hits: tuple[PartialHit, ...]


class Progress(JobEvent):
    """How far a long step has come.

    Attributes:
        stage: name of the step
        done: what is done, in units that depend on the step, such as documents, texts or passages
        total: what there is to do, in the same units
    """

    type: Literal["progress"] = "progress"
    stage: str
    done: int
    total: int


class SearchRound(JobEvent):
    """One round of an iterative search of files.

    Attributes:
        round: number of the round
        queries: what the round searched for
        evaluated: number of files that the round judged
        bands: number of these files by band of relevance: high, medium, low, irrelevant
        files: high and medium files of the round, best first
        gaps: names that high files use but no retrieved file defines
        stop: why no further round follows; null: one does
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

    The answer so far is always ``so_far[:offset] + text``.

    Attributes:
        stage: name of the step that writes the answer
        attempt: number of the attempt at the step, from 1
        offset: character of the answer at which `text` starts, from 0; 0 again if the model starts over
        text: part of the answer, which replaces everything from `offset` on
    """

    type: Literal["answer"] = "answer"
    stage: str
    attempt: int
    offset: int
    text: str


class Done(JobEvent):
    """The job ended, and its result is on the board.

    Attributes:
        complete: whether the result lacks nothing; false if its `degraded` names anything
    """

    type: Literal["done"] = "done"
    complete: bool


class Failed(JobEvent):
    """The job ended without a result.

    Attributes:
        reason: why, in words
    """

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
