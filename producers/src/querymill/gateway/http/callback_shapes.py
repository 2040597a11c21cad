"""How the callback of a job is shown, as the OpenAPI document describes it."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from querymill.gateway.http.times import Time


class DeliveryBody(BaseModel):
    """A job that tells a caller.

    Attributes:
        job_id: id of the job that tells it
        state: done: the address accepted the message; dead: it was given up
        attempts: how often the address was called
        reason: why the last attempt failed, in words; else empty
        next_at: when the next attempt is due; null: none is
        ended_at: when it was accepted or given up; null: it was not
    """

    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled", "dead"]
    attempts: int
    reason: str = ""
    next_at: Time | None = None
    ended_at: Time | None = None


class CallbackBody(BaseModel):
    """Whom the end of a job is told, and what became of that.

    Attributes:
        url: address that is told, without its path, which may be secret
        events: ends of which it is told, such as done and failed
        deliveries: the last 3 jobs that tell it: one, and another each time that the job was replayed and ended again
    """

    url: str
    events: list[str]
    deliveries: Annotated[list[DeliveryBody], Field(max_length=3)] = []
