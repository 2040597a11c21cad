"""A submitted job: watch it, wait for it, cancel it."""

import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final, Generic, TypeVar, cast

from pydantic import ValidationError

from querymill.client.events.waits import Heard, is_later
from querymill.client.events.watch import Watch
from querymill_shared.board import CANCELLED, AsyncValkeyBoard, Board, Picture, Verdict
from querymill_shared.contracts.errors import (
    InvalidRequest,
    JobCancelled,
    JobFailed,
    UnknownJob,
    UnreadableJob,
    broken_rules,
)
from querymill_shared.contracts.events import Cancelled, Done, Event, Failed, decode_event
from querymill_shared.contracts.jobs import JobRequest, decode_result
from querymill_shared.contracts.results import JobResult

R = TypeVar("R", bound=JobResult)
BEGINNING: Final = "0-0"
_EVENT_ID: Final = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")


class Job(Generic[R]):
    """A job on the board; ``R`` is the type of its result.

    ``is_new`` is False if nothing was started for it: an idempotency key led to an earlier job, or identical work was
    in flight.

    A job can be pickled. What is pickled is its id alone, without any address or secret: the process that unpickles it
    reaches the board by its own settings.
    """

    def __init__(
        self, job_id: str, board: Board, watch: Watch, *, asked: JobRequest | None = None, is_new: bool = False
    ) -> None:
        self.id = job_id
        self.is_new = is_new
        self._board = board
        self._watch = watch
        self._of = _of(asked)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}{self._of}>"

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
        begins_at = _begins_at(after)
        if after is not None:
            is_over = self._board.picture(self.id).record.is_over
            if is_over and not self._board.events(self.id, after=begins_at):
                return
        for told in self._watch.events(self.id, until=_until(timeout), after=begins_at):
            event = decode_event(told.body)
            if event is not None:  # else only another release knows such events
                yield event.with_id(told.event_id)

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
        return cast("R", _result(self.id, self._watch.end(self.id, until=_until(timeout))))

    def cancel(self) -> bool:
        """Cancel the job. Return False if it had already ended.

        If others wait for the same work, the work continues for them.
        """
        return self._board.settle(self.id, Verdict("cancelled", reason=CANCELLED))

    def release(self) -> bool:
        """Delete an ended job from the board before its result expires. Return False if it has not ended.

        This frees the board's memory after a large result was fetched.
        """
        return self._board.release(self.id)

    def replay(self) -> bool:
        """Run a dead job again, with all its attempts. Return False if it is not dead.

        What was done stays done. The job keeps its place among the versions of a document: it was accepted when it was.
        """
        return self._board.replay(self.id)

    def drop(self) -> bool:
        """Delete a dead job from the board. Return False if it is not dead."""
        return self._board.drop(self.id)

    def picture(self) -> Picture:
        """Return a snapshot of the job: its state, its steps, and the hits so far."""
        return self._board.picture(self.id).for_caller()

    def trail(self) -> Picture:
        """Return what the job did, some days after its end too: its steps, attempts, waits, codes and costs.

        Its question, hits and result are not in it.

        Raises:
            UnknownJob: It has not ended, or that is too long ago.
        """
        return self._board.trail(self.id).for_caller()


class AsyncJob(Generic[R]):
    """`Job`, awaitable. ``is_replayed`` is True if an idempotency key led to an earlier job."""

    def __init__(
        self,
        job_id: str,
        board: AsyncValkeyBoard,
        watch: Watch,
        *,
        asked: JobRequest | None = None,
        is_new: bool = False,
        is_replayed: bool = False,
    ) -> None:
        self.id = job_id
        self.is_new = is_new
        self.is_replayed = is_replayed
        self._board = board
        self._watch = watch
        self._of = _of(asked)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}{self._of}>"

    async def events(
        self, *, timeout: float | None = None, after: str | None = None
    ) -> AsyncGenerator[Event]:  # as `Job.events`
        """See `Job.events`."""
        begins_at = _begins_at(after)
        if after is not None:
            known = await self._board.summary(self.id)
            if known.record.is_over and not is_later(known.last or BEGINNING, begins_at):
                return
        async with aclosing(self._watch.events_async(self.id, until=_until(timeout), after=begins_at)) as found:
            async for told in found:
                event = decode_event(told.body)
                if event is not None:
                    yield event.with_id(told.event_id)

    async def result(self, timeout: float | None = None) -> R:  # as `Job.result`
        """See `Job.result`."""
        return cast("R", _result(self.id, await self._watch.end_async(self.id, until=_until(timeout))))

    async def cancel(self) -> bool:
        """See `Job.cancel`."""
        return await self._board.settle(self.id, Verdict("cancelled", reason=CANCELLED))

    async def release(self) -> bool:
        """See `Job.release`."""
        return await self._board.release(self.id)

    async def replay(self) -> bool:
        """See `Job.replay`."""
        return await self._board.replay(self.id)

    async def drop(self) -> bool:
        """See `Job.drop`."""
        return await self._board.drop(self.id)

    async def trail(self) -> Picture:
        """See `Job.trail`."""
        return (await self._board.trail(self.id)).for_caller()

    async def picture(self) -> Picture:
        """See `Job.picture`."""
        return (await self._board.picture(self.id)).for_caller()


def _of(asked: JobRequest | None) -> str:
    return "" if asked is None else f": {asked.kind} of {asked.collection!r}"


def _begins_at(after: str | None) -> str:
    if after is not None and _EVENT_ID.fullmatch(after) is None:
        raise InvalidRequest(("after", "must be the id of an event, such as 1795269731204-0"))
    return after or BEGINNING


def _until(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _result(job_id: str, heard: Heard) -> JobResult:
    match decode_event(heard.told[-1].body):
        case Failed(reason=reason, code=code):
            raise JobFailed(job_id, f"failed: {reason}", code=code)
        case Cancelled():
            raise JobCancelled(job_id, "was cancelled")
        case Done():
            pass
        case _:
            raise JobFailed(job_id, "failed: it ended in a way that this release does not know")
    if heard.result is None:
        raise UnknownJob(job_id)
    try:
        return decode_result(heard.result)
    except ValidationError as error:
        raise UnreadableJob(job_id, f"this release cannot read its result: {broken_rules(error)}") from error
