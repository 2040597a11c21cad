"""What the routes of those who operate a gateway answer, as the OpenAPI document describes it."""

from typing import Any, Literal

from pydantic import BaseModel


class FleetBody(BaseModel):
    """How the fleet is.

    Attributes:
        jobs: by kind: how many were submitted, how they ended, and how long they took (s), since the board was empty
        lately: how jobs ended in the last `minutes`, by kind
        leases_lost: how many steps were taken from dead workers since the board was empty
        dead_letters: how many dead jobs there are, to be replayed or dropped
        workers: the worker processes that are alive, with their queues, threads (`slots`), and threads at work (`busy`)
        queues: of each queue: its workers and threads, the steps that wait and run, and how long the oldest waits (s)
        providers: of each provider's account: its circuit breaker, failures in a row, pause (s), and what was learned
        refusals: by model: the last 50 calls that its provider refused, the latest first
        counts: counters of the fleet by name, since the board was empty
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
    """The queues at a time, and what the fleet did before it.

    Attributes:
        at: that time by the board's clock, in seconds since the epoch
        passed_s: seconds that were counted: about 60, more after a time without workers, 0 if nothing is known of them
        queues: of each queue: the steps that wait and run at that time, its threads, and the steps that were run
        jobs: by kind: how many were submitted, how they ended, and how long they took (s)
        counts: by name: calls and tokens of providers, and processor time in ms
    """

    at: float
    passed_s: float
    queues: list[dict[str, Any]]
    jobs: dict[str, dict[str, Any]]
    counts: dict[str, int]


class FleetHistory(BaseModel):
    """What the fleet did by the minute.

    Attributes:
        minutes: the last minutes, the earliest first; those without a worker are left out
    """

    minutes: list[FleetMinute]


class Status(BaseModel):
    """How the process is.

    Attributes:
        status: ok: it is alive; ready: it takes requests
    """

    status: Literal["ok", "ready"]
