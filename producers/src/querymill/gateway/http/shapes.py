"""What the routes answer, as the OpenAPI document describes it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from querymill.gateway.http.callback_shapes import CallbackBody
from querymill.gateway.http.problems import BrokenRule, links_of
from querymill.gateway.http.times import Time, moment
from querymill_shared.board import Attempt, Picture, Record, Step
from querymill_shared.board.calls import MAX_KEPT_REQUEST_BYTES
from querymill_shared.board.joining import reads_only
from querymill_shared.contracts.callbacks import TellCaller
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.filters import Retriever
from querymill_shared.urls import mask_text

State = Literal["queued", "running", "done", "failed", "cancelled", "dead"]


class JobBody(BaseModel):
    """A job at a glance. It is done, and not ``complete``, if its result lacks a part."""

    job_id: str
    kind: str
    collection: str
    state: State
    complete: bool = True
    created_at: Time
    deadline_at: Time | None
    labels: Annotated[dict[str, str], Field(description="what its caller labelled it with")] = {}
    is_gone: Annotated[
        bool, Field(description="what it asked and found is gone; what it did is kept for some days")
    ] = False
    links: dict[str, str]


class PartBody(BaseModel):
    """A part of an attempt, in the order in which the parts were done.

    Of its ``ms`` milliseconds it waited ``waited_ms`` for a provider's limit. ``calls`` counts provider calls,
    ``cached`` values that were found in a cache, ``shared`` those that came from calls of other workers. ``costs`` is
    what its calls cost, by model.
    """

    what: str
    ms: float
    waited_ms: float = 0.0
    calls: int = 0
    cached: int = 0
    shared: int = 0
    costs: list[ModelCost] = []


class AttemptBody(BaseModel):
    """One attempt at a step. ``queued_at`` is when the step began to wait for it, null if that is unknown."""

    number: int
    outcome: str
    code: str | None
    reason: str
    worker: str
    queued_at: Time | None
    started_at: Time | None
    ended_at: Time | None
    parts: list[PartBody]


class StepBody(BaseModel):
    """A step of a job. ``put_back`` counts why it was put back, by cause.

    ``attempt`` counts all attempts, of which ``attempts`` has the last 20, the first one first.
    """

    name: str
    state: Literal["waiting", "running", "done", "failed"]
    attempt: int
    code: str | None = None
    reason: str = ""
    worker: str = ""
    queued_at: Time | None = None
    started_at: Time | None = None
    ended_at: Time | None = None
    put_back: dict[str, int] = Field(default_factory=dict)
    attempts: list[AttemptBody] = Field(default_factory=list)


class HitSoFar(BaseModel):
    """The best score that one query gave a hit, and the number of the passage with that score."""

    key: str
    score: float
    passage: int


class JobDetail(JobBody):
    """A job with its steps.

    ``request`` is what was asked, null if the board no longer has it, or if the key may not search the collection.
    ``callers`` counts those that share its work. ``callback`` says whom its end is told, and what became of that. With
    `hits=true`, ``hits`` are those of a job that is not over, by query, and ``queries`` maps each query to the step
    that asked it; both are null for a key that may not search.
    """

    lane: str
    ended_at: Time | None
    code: str | None
    reason: str
    callers: int
    request: dict[str, Any] | None
    callback: CallbackBody | None = None
    steps: list[StepBody]
    hits: dict[str, list[HitSoFar]] | None = None
    queries: dict[str, str] | None = None


class JobList(BaseModel):
    """A page of jobs, newest first. ``next`` is the cursor of the next page.

    The jobs since ``looked_back_to`` were looked at.
    """

    jobs: list[JobBody]
    next: str | None
    looked_back_to: Time | None


class SubmittedBody(JobBody):
    """A job that was submitted.

    It ``starts_work`` unless an idempotency key led to an earlier job, or identical work was in flight.
    """

    starts_work: bool


class ActionBody(BaseModel):
    """What became of a job that was to be released, replayed or dropped: ``done`` is false where it could not be.

    ``state`` is that of the job before.
    """

    job_id: str
    state: State
    done: bool


class CancelBody(BaseModel):
    """What became of a job that was to be cancelled: ``cancelled`` is False where it was over already."""

    job_id: str
    state: State
    cancelled: bool


class EventBody(BaseModel):
    """An event of a job, with its id in the stream. ``data`` has the type of the event."""

    id: str
    event: str
    data: dict[str, Any]


class CollectionBody(BaseModel):
    """A collection, and the kinds that it holds something of."""

    name: str
    kinds: Sequence[Retriever]


class CollectionList(BaseModel):
    """The collections that the key may see."""

    collections: list[CollectionBody]


class RejectedLine(BrokenRule):
    """A line that was not accepted: its number from 1, the field and the rule that it breaks."""

    line: int


class ReadDocument(BaseModel):
    """A document that was read as it is: its id, what it says or was said to be, and what of it was not read."""

    id: str
    format: str
    pages: int
    title: str
    company: str | None
    period: str | None
    published_at: str | None
    remarks: list[str]


class UploadBody(BaseModel):
    """What became of the lines of an upload. Accepted documents are stored by the jobs of the batch.

    ``documents`` names those that were read as they are, such as a PDF.
    """

    batch: str
    accepted: int
    rejected: int
    first_rejected: Annotated[list[RejectedLine], Field(max_length=100)]
    documents: list[ReadDocument] = Field(default_factory=list)
    links: dict[str, str]


class FailedDocument(BaseModel):
    """A document that its job could not store, and why."""

    document: str
    reason: str


class UploadOutcome(UploadBody):
    """What became of an upload whose ingestion has ended: its jobs by state, and the documents that are stored.

    ``failed`` counts those that could not be stored though others of their job were.
    """

    jobs: dict[str, int]
    stored: int
    failed: int
    first_failed: Annotated[list[FailedDocument], Field(max_length=100)]


class BatchBody(BaseModel):
    """How far a batch is: its jobs by state. ``gone`` counts those that ended so long ago that they are forgotten.

    ``accepted`` counts documents, ``stored`` those of jobs that are done but for the ``failed``: those that could not
    be stored though others of their job were. ``is_open`` says that lines are still read. ``began_at`` is in seconds
    since the epoch.
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
    """What was dropped."""

    outcome: str
    total: int


class Matches(BaseModel):
    """How many documents a filter matches."""

    matches: int


class FleetBody(BaseModel):
    """How the fleet is. ``jobs`` are by kind; ``counts`` are the fleet's counters since the board was empty.

    ``lately`` tells how jobs ended in the last ``minutes``, by kind.
    """

    jobs: dict[str, dict[str, Any]]
    lately: dict[str, Any]
    leases_lost: int
    dead_letters: int
    workers: list[dict[str, Any]]
    queues: list[dict[str, Any]]
    providers: list[dict[str, Any]]
    refusals: dict[str, list[dict[str, Any]]]
    counts: dict[str, float]


class FleetMinute(BaseModel):
    """The queues at a time, in seconds since the epoch, and what the fleet did in the ``passed_s`` seconds before it.

    That is about 60, more after a time without workers, and 0 if nothing is known of the time before. ``jobs`` are by
    kind, ``counts`` are calls and tokens of providers, and processor time in ms.
    """

    at: float
    passed_s: float
    queues: list[dict[str, Any]]
    jobs: dict[str, dict[str, Any]]
    counts: dict[str, int]


class FleetHistory(BaseModel):
    """What the fleet did by the minute, the earliest first."""

    minutes: list[FleetMinute]


class Status(BaseModel):
    """Whether the process is alive or ready."""

    status: Literal["ok", "ready"]


def job_of(record: Record) -> JobBody:
    """Show a job at a glance."""
    return JobBody.model_validate(_glance(record))


def detail_of(
    picture: Picture, callback: CallbackBody | None, *, shows_request: bool, shows_hits: bool = False
) -> JobDetail:
    """Show a job with its steps, with what became of its callback, and with the hits so far if asked to."""
    record = picture.record
    more = {
        "lane": record.lane,
        "code": record.code or None,
        "callers": record.callers,
        "request": _request(picture) if shows_request else None,
        "callback": callback,
        "ended_at": moment(record.ended),
        "reason": mask_text(record.reason),
        "steps": [_step(step) for step in picture.steps],
    }
    if shows_hits:
        more |= {
            "hits": {query: [hit._asdict() for hit in hits] for query, hits in picture.hits.items()},
            "queries": dict(picture.queries),
        }
    return JobDetail.model_validate(_glance(record) | more)


def _request(picture: Picture) -> dict[str, Any] | None:
    """Return what was asked, unless it is a payload: documents to ingest, or more text than the board keeps.

    The address of a callback may be a secret.
    """
    asked = picture.asked
    if (
        asked is None
        or isinstance(asked, TellCaller)
        or not reads_only(asked)
        or len(asked.model_dump_json()) > MAX_KEPT_REQUEST_BYTES
    ):
        return None
    return asked.model_dump(mode="json")


def _glance(record: Record) -> dict[str, Any]:
    return {
        "job_id": record.job_id,
        "kind": record.kind,
        "collection": record.collection,
        "state": record.state,
        "complete": record.is_complete,
        "created_at": moment(record.created),
        "deadline_at": moment(record.deadline),
        "labels": dict(record.labels),
        "is_gone": record.is_trail,
        "links": links_of(record.job_id),
    }


def _step(step: Step) -> Mapping[str, Any]:
    counts = step.counts
    causes = {name: getattr(counts, name) for name in ("deaths", "failures", "outages", "conflicts", "pauses")}
    return {
        "name": step.name,
        "state": step.state,
        "attempt": step.attempt,
        "code": step.code,
        "reason": mask_text(step.reason),
        "worker": step.worker,
        "queued_at": moment(step.queued),
        "started_at": moment(step.started),
        "ended_at": moment(step.ended),
        "put_back": {name: count for name, count in causes.items() if count},
        "attempts": [_attempt(attempt) for attempt in step.attempts],
    }


def _attempt(attempt: Attempt) -> Mapping[str, Any]:
    return {
        "number": attempt.number,
        "outcome": attempt.outcome,
        "code": attempt.code,
        "reason": mask_text(attempt.reason),
        "worker": attempt.worker,
        "queued_at": moment(attempt.queued),
        "started_at": moment(attempt.started),
        "ended_at": moment(attempt.ended),
        "parts": [asdict(part) for part in attempt.parts],
    }
