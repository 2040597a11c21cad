"""Dropping a session of messages."""

from typing import Annotated, ClassVar, Literal

from querymill_shared.contracts.fields import Growing, Id, Lane, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class ForgetSession(Request, Asks["ForgetResult"]):
    """Drop a session: its messages, their index entries and their vectors. Idempotent."""

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["forget_messages"] = "forget_messages"
    lane: Lane = Lane.NORMAL
    session_id: Id
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of dropping a session."""
        return ("forget",)


class ForgetResult(JobResult):
    """What was dropped. ``total`` counts its passages.

    ``outcome`` is "absent" if there was no such session, and "superseded" if one was ingested that was accepted later:
    it stays.
    """

    kind: Literal["forget_messages"] = "forget_messages"
    session_id: str
    outcome: Annotated[Literal["forgotten", "absent", "superseded"], Growing]
