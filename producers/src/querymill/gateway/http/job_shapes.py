"""What the routes of jobs answer, as the OpenAPI document describes it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from querymill.gateway.http.callback_shapes import CallbackBody
from querymill.gateway.http.problems import links_of
from querymill.gateway.http.times import Time, moment
from querymill_shared.board import Attempt, Picture, Record, Step
from querymill_shared.board.calls import MAX_KEPT_REQUEST_BYTES
from querymill_shared.board.joining import reads_only
from querymill_shared.contracts.callbacks import TellCaller
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.urls import mask_text

State = Literal["queued", "running", "done", "failed", "cancelled", "dead"]


class JobBody(BaseModel):
    """A job at a glance."""

    job_id: Annotated[str, Field(description="id of the job, 32 hex digits")]
    kind: Annotated[str, Field(description="kind of its request, such as `messages`")]
    collection: Annotated[str, Field(description="collection that it is about; several are joined by commas")]
    state: Annotated[
        State, Field(description="done: it has a result; dead: it failed too often, and can be replayed or dropped")
    ]
    complete: Annotated[bool, Field(description="false: it is done, and its result lacks a part")] = True
    created_at: Annotated[Time, Field(description="when it was submitted")]
    deadline_at: Annotated[Time | None, Field(description="when its result is due; null: it has no deadline")]
    labels: Annotated[dict[str, str], Field(description="what its caller labelled it with")] = {}
    is_gone: Annotated[
        bool, Field(description="what it asked and found is gone; what it did is kept for some days")
    ] = False
    links: Annotated[
        dict[str, str], Field(description="addresses of the job: self, events, result, and its console page")
    ]


class PartBody(BaseModel):
    """A part of an attempt.

    Attributes:
        what: what was done: route, expand, embed, search, rerank, write, judge, fuse, or a word of the job's kind
        ms: how long it took, in ms
        waited_ms: how much of that it waited for a provider's limit, in ms
        calls: how many calls of providers it made
        cached: how many values it found in a cache
        shared: how many values it got from calls of other workers
        costs: what its calls cost, with one entry for each model
    """

    what: str
    ms: float
    waited_ms: float = 0.0
    calls: int = 0
    cached: int = 0
    shared: int = 0
    costs: list[ModelCost] = []


class AttemptBody(BaseModel):
    """One attempt at a step.

    Attributes:
        number: its number among the attempts at the step, from 1
        outcome: running, done, failed, outage, refused, lost (the worker died), or withdrawn (put back on purpose)
        code: why it failed or what it lacks, such as `provider_down`; null: nothing, or that is unknown
        reason: why it failed or was put back, in words; else empty
        worker: name of the worker process; empty if that is unknown
        queued_at: when the step began to wait for it; null if that is unknown
        started_at: when a worker took the step; null if that is unknown
        ended_at: when it ended; null: it is running, or that is unknown
        parts: what it did, in the order in which the parts were done
    """

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
    """A step of a job.

    Attributes:
        name: name of the step, unique in its job
        state: waiting: no worker runs it, also between two attempts; done and failed are final
        attempt: how many attempts there were, with the one that is running
        code: why it failed, lacks something or was put back last, such as `provider_down`; null if that is unknown
        reason: why it failed or was put back last, in words; else empty
        worker: name of the worker process that took it last; empty if that is unknown
        queued_at: when it last began to wait for a worker; null if that is unknown
        started_at: when its last attempt began; null: no attempt has
        ended_at: when it ended as done or failed; null: it has not
        put_back: how often it was put back, by cause: deaths (of workers), failures, outages, conflicts, pauses
        attempts: the last 20 attempts, the first one first
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
    """A hit that one query found.

    Attributes:
        key: identifies the hit, in the form of the job's kind
        score: the best score that the query gave the hit; higher is better
        passage: number of the passage with that score
    """

    key: str
    score: float
    passage: int


class JobDetail(JobBody):
    """A job with its steps.

    Attributes:
        lane: priority under a provider's rate limit: interactive, normal or bulk
        ended_at: when it ended; null: it has not
        code: why it ended without a result, such as `deadline`; null: it did not, or that is unknown
        reason: why it ended without a result, in words; else empty
        callers: how many jobs share its work, with itself
        request: what was asked; null: the board does not keep it, or the key lacks the scope search
        callback: whom its end is told, and what became of that; null: nobody
        steps: the steps of its work so far
        hits: those of a job that is not over, by query; null without `hits=true` or the scope search
        queries: the step that asked each query, while the job is not over; null without `hits=true` or the scope search
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
    """A page of jobs.

    Attributes:
        jobs: those of the jobs looked at that fit, newest first
        next: cursor of the next page, for `before`; null: there is none
        looked_back_to: when the oldest job that was looked at was submitted; null: there was none
    """

    jobs: list[JobBody]
    next: str | None
    looked_back_to: Time | None


class SubmittedBody(JobBody):
    """A job that was submitted.

    Attributes:
        starts_work: false: an idempotency key led to an earlier job, or identical work was in flight
    """

    starts_work: bool


class ActionBody(BaseModel):
    """What became of a job that was to be released, replayed or dropped.

    Attributes:
        job_id: id of the job
        state: state of the job before
        done: false: its state did not allow it, and the job stays as it was
    """

    job_id: str
    state: State
    done: bool


class CancelBody(BaseModel):
    """What became of a job that was to be cancelled.

    Attributes:
        job_id: id of the job
        state: state of the job after that
        cancelled: false: it was over already
    """

    job_id: str
    state: State
    cancelled: bool


class EventBody(BaseModel):
    """An event of a job.

    Attributes:
        id: its id in the stream of the job, for `Last-Event-ID` or `after`
        event: its type, such as `done`
        data: the event itself, with the fields of its type
    """

    id: str
    event: str
    data: dict[str, Any]


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
