"""How the callback of a job is shown, as the OpenAPI document describes it."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from querymill.gateway.http.times import Time


class DeliveryBody(BaseModel):
    """A job that tells a caller: done if the address accepted the message, dead if it was given up.

    ``reason`` says why the last attempt failed, and ``next_at`` when the next one is due.
    """

    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled", "dead"]
    attempts: int
    reason: str = ""
    next_at: Time | None = None
    ended_at: Time | None = None


class CallbackBody(BaseModel):
    """Whom the end of a job is told, and what became of that. ``url`` is without its path, which may be secret."""

    url: str
    events: list[str]
    deliveries: Annotated[list[DeliveryBody], Field(max_length=3)] = []
