"""A submitted job: watch it, wait for it, cancel it."""

import re
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Final, Generic, TypeVar, cast

from querymill.client.transport import AsyncTransport, Transport
from querymill_shared.board.picture import Picture
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.feedback import FeedbackResult
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import JobResult

R = TypeVar("R", bound=JobResult)
_EVENT_ID: Final = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")


class Job(Generic[R]):
    """A job that was submitted; ``R`` is the type of its result.

    ``is_new`` is False if nothing was started for it: an idempotency key led to an earlier job, or identical work was
    in flight.

    A job on the board can be pickled. What is pickled is its id alone, without any address or secret: the process that
    unpickles it reaches the board by its own settings.
    """

    def __init__(
        self, job_id: str, transport: Transport, *, asked: JobRequest | None = None, is_new: bool = False
    ) -> None:
        self.id = job_id
        self.is_new = is_new
        self._transport = transport
        self._of = _of(asked)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}{self._of}>"

    @property
    def needs_key(self) -> bool:
        """Whether its client reaches it through a gateway, by a key of its own."""
        return self._transport.is_remote

    def events(self, *, timeout: float | None = None, after: str | None = None) -> Iterator[Event]:
        """Follow the job from its beginning, or from ``after`` the id of an event, to its end.

        Every event comes once, in order, and has its ``id``. Of a long job the board keeps about the last thousand. If
        others have only waited for its end until now, its next step that ends brings the first `Hits`.

        Raises:
            InvalidRequest: ``after`` is no id of an event.
            StillRunning: The job was not over after ``timeout`` seconds.
            UnknownJob: It is not on the board.
            ClientClosed: The client was closed.
        """
        return self._transport.events(self.id, after=_checked(after), until=_until(timeout))

    def result(self, timeout: float | None = None) -> R:
        """Wait for the result and return it.

        Raises:
            JobFailed: It failed, with its reason.
            JobCancelled: It was cancelled.
            StillRunning: The job has not ended after ``timeout`` seconds; it keeps running.
            UnknownJob: It is not on the board.
            UnreadableJob: A release that this one does not know wrote the result.
            Unavailable: The board has been away since the wait began.
            ClientClosed: The client was closed.
        """
        return cast("R", self._transport.result(self.id, until=_until(timeout)))

    def cancel(self) -> bool:
        """Cancel the job. Return False if it had already ended.

        If others wait for the same work, the work continues for them.
        """
        return self._transport.cancel(self.id)

    def release(self) -> bool:
        """Delete an ended job from the board before its result expires. Return False if it has not ended.

        This frees the board's memory after a large result was fetched.
        """
        return self._transport.release(self.id)

    def replay(self) -> bool:
        """Run a dead job again, with all its attempts. Return False if it is not dead.

        What was done stays done. The job keeps its place among the versions of a document: it was accepted when it was.
        """
        return self._transport.replay(self.id)

    def drop(self) -> bool:
        """Delete a dead job from the board. Return False if it is not dead."""
        return self._transport.drop(self.id)

    def feedback(self, hit: str, relevance: int, comment: str = "") -> "Job[FeedbackResult]":
        """Keep how relevant a hit of this search is. Return the job that keeps it.

        ``hit`` is the id of the hit, such as "ab12/page/7", or that of its document if it has one hit only.
        ``relevance`` is 0 (not relevant), 1 (somewhat), 2 (relevant) or 3 (exactly what was asked for). What is said
        later of the same hit replaces it. `querymill eval feedback` makes a set of what was said.

        Raises:
            InvalidRequest: The job is no search that is done, or has no such hit; or a value breaks a rule.
            UnknownJob: It is not on the board.
        """
        return Job(self._transport.feedback(self.id, hit, relevance, comment), self._transport)

    def picture(self) -> Picture:
        """Return a snapshot of the job: its state, its steps, and the hits so far."""
        return self._transport.picture(self.id)

    def trail(self) -> Picture:
        """Return what the job did, some days after its end too: its steps, attempts, waits, codes and costs.

        Its question, hits and result are not in it.

        Raises:
            UnknownJob: It has not ended, or that is too long ago.
        """
        return self._transport.trail(self.id)


class AsyncJob(Generic[R]):
    """`Job`, awaitable. ``is_replayed`` is True if an idempotency key led to an earlier job."""

    def __init__(
        self,
        job_id: str,
        transport: AsyncTransport,
        *,
        asked: JobRequest | None = None,
        is_new: bool = False,
        is_replayed: bool = False,
    ) -> None:
        self.id = job_id
        self.is_new = is_new
        self.is_replayed = is_replayed
        self._transport = transport
        self._of = _of(asked)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}{self._of}>"

    @property
    def needs_key(self) -> bool:
        """Whether its client reaches it through a gateway, by a key of its own."""
        return self._transport.is_remote

    def events(
        self, *, timeout: float | None = None, after: str | None = None
    ) -> AsyncGenerator[Event]:  # as `Job.events`
        """See `Job.events`."""
        return self._transport.events(self.id, after=_checked(after), until=_until(timeout))

    async def result(self, timeout: float | None = None) -> R:  # as `Job.result`
        """See `Job.result`."""
        return cast("R", await self._transport.result(self.id, until=_until(timeout)))

    async def cancel(self) -> bool:
        """See `Job.cancel`."""
        return await self._transport.cancel(self.id)

    async def release(self) -> bool:
        """See `Job.release`."""
        return await self._transport.release(self.id)

    async def replay(self) -> bool:
        """See `Job.replay`."""
        return await self._transport.replay(self.id)

    async def drop(self) -> bool:
        """See `Job.drop`."""
        return await self._transport.drop(self.id)

    async def feedback(self, hit: str, relevance: int, comment: str = "") -> "AsyncJob[FeedbackResult]":
        """See `Job.feedback`."""
        return AsyncJob(await self._transport.feedback(self.id, hit, relevance, comment), self._transport)

    async def trail(self) -> Picture:
        """See `Job.trail`."""
        return await self._transport.trail(self.id)

    async def picture(self) -> Picture:
        """See `Job.picture`."""
        return await self._transport.picture(self.id)


def _of(asked: JobRequest | None) -> str:
    return "" if asked is None else f": {asked.kind} of {asked.collection!r}"


def _checked(after: str | None) -> str | None:
    if after is not None and _EVENT_ID.fullmatch(after) is None:
        raise InvalidRequest(("after", "must be the id of an event, such as 1795269731204-0"))
    return after


def _until(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout
