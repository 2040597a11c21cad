"""What a job tells while it runs; one class per type of event."""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from querymill_shared.contracts.fields import Contract


class Queued(Contract):
    """The job was accepted."""

    type: Literal["queued"] = "queued"
    stages: tuple[str, ...]


class StageStarted(Contract):
    """A worker took up one branch."""

    type: Literal["stage_started"] = "stage_started"
    stage: str
    attempt: int


class StageFinished(Contract):
    """A branch ended: done, failed with a reason, or put back to be tried again."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: str
    state: Literal["done", "failed", "retrying"]
    ms: float | None = None
    reason: str | None = None


class PartialHit(Contract):
    """A hit as the ranking stands now: its key, and its score so far."""

    key: str
    score: float
    title: str | None = None


class Hits(Contract):
    """The ranking as it stands before every branch is in."""

    type: Literal["hits"] = "hits"
    after_stage: str
    total: int
    hits: tuple[PartialHit, ...]


class Progress(Contract):
    """How far a long step has come, in units of its own."""

    type: Literal["progress"] = "progress"
    stage: str
    done: int
    total: int


class SearchRound(Contract):
    """One round of an iterative search: what it asked, how many files it judged, and how things stand after it.

    ``bands`` counts the files of this round by band; ``files`` are its high and medium ones, best first; ``gaps``
    are names that high files use and nothing retrieved defines; ``stop`` says why there is no further round.
    """

    type: Literal["search_round"] = "search_round"
    round: int
    queries: tuple[str, ...]
    evaluated: int
    bands: dict[str, int]
    files: tuple[PartialHit, ...]
    gaps: tuple[str, ...]
    stop: str | None = None


class AnswerPart(Contract):
    """A part of an answer that is being written: ``text`` stands ``offset`` characters from its beginning.

    What stood there before, and after it, no longer counts: an answer that is begun anew begins at 0. So the
    answer so far is ``so_far[:offset] + text``, whichever events a reader saw last.
    """

    type: Literal["answer"] = "answer"
    stage: str
    attempt: int
    offset: int
    text: str


class Done(Contract):
    """The result is on the board."""

    type: Literal["done"] = "done"
    complete: bool


class Failed(Contract):
    """The job ended without a result."""

    type: Literal["failed"] = "failed"
    reason: str


class Cancelled(Contract):
    """The job was cancelled."""

    type: Literal["cancelled"] = "cancelled"


#: What a flow tells on its way.
Told = Hits | Progress | SearchRound | AnswerPart
Event = Queued | StageStarted | StageFinished | Told | Done | Failed | Cancelled
#: After one of these nothing more comes.
LAST = (Done, Failed, Cancelled)

_EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


def decode_event(body: str | bytes | dict[str, Any]) -> Event:
    """Read an event from JSON, or from the decoded object."""
    return _EVENTS.validate_python(body) if isinstance(body, dict) else _EVENTS.validate_json(body)
