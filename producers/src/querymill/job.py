"""A submitted job: watch it, wait for it, cancel it."""

import time
from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar, cast

from querymill_shared.board import AsyncValkeyBoard, Board, Picture, Verdict
from querymill_shared.contracts.errors import JobCancelled, JobFailed, UnknownJob
from querymill_shared.contracts.events import LAST, Cancelled, Done, Event, Failed
from querymill_shared.contracts.jobs import decode_result
from querymill_shared.contracts.results import JobResult

R = TypeVar("R", bound=JobResult)

#: How long one read of the event stream waits, in seconds.
_LOOK_S = 2.0


class Job(Generic[R]):
    """A job on the board; ``R`` is the type of its result.

    ``is_new`` is False if an idempotency key led to an earlier job.
    """

    def __init__(self, job_id: str, board: Board, *, is_new: bool = False) -> None:
        self.id = job_id
        self.is_new = is_new
        self._board = board

    def events(self, *, timeout: float | None = None) -> Iterator[Event]:
        """Follow the job from its beginning to its end; every event once, in order.

        Raises:
            TimeoutError: The job was not over after ``timeout`` seconds.
            UnknownJob: It is not on the board.
        """
        until = None if timeout is None else time.monotonic() + timeout
        after = "0-0"
        while True:
            found = self._board.events(self.id, after=after, wait_s=_look(self.id, until))
            if not found:
                self._board.picture(self.id)  # if the job has expired since, say so instead of waiting on
            for after, event in found:  # noqa: B007  # the last id is where the next look begins
                yield event
                if isinstance(event, LAST):
                    return

    def result(self, timeout: float | None = None) -> R:
        """Wait for the result and return it.

        Raises:
            JobFailed: It failed, with its reason.
            JobCancelled: It was cancelled.
            TimeoutError: The job has not ended after ``timeout`` seconds; it keeps running.
            UnknownJob: It is not on the board.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while (last := self._board.ended(self.id, wait_s=_look(self.id, until))) is None:
            self._board.picture(self.id)  # if the job has expired since, say so instead of waiting on
        _raise_if_lost(self.id, last)
        return cast("R", _decoded(self.id, self._board.result(self.id)))

    def cancel(self) -> bool:
        """Cancel the job. Return False if it had already ended."""
        return self._board.settle(self.id, Verdict("cancelled", reason="cancelled by its caller"))

    def release(self) -> bool:
        """Delete an ended job from the board before its result expires. Return False if it has not ended.

        This frees the board's memory after a large result was fetched.
        """
        return self._board.release(self.id)

    def picture(self) -> Picture:
        """Return a snapshot of the job: its state, its steps, and the hits so far."""
        return self._board.picture(self.id)


class AsyncJob(Generic[R]):
    """`Job`, awaitable."""

    def __init__(self, job_id: str, board: AsyncValkeyBoard, *, is_new: bool = False) -> None:
        self.id = job_id
        self.is_new = is_new
        self._board = board

    async def events(self, *, timeout: float | None = None) -> AsyncIterator[Event]:  # as `Job.events`
        """See `Job.events`."""
        until = None if timeout is None else time.monotonic() + timeout
        after = "0-0"
        while True:
            found = await self._board.events(self.id, after=after, wait_s=_look(self.id, until))
            if not found:
                await self._board.picture(self.id)
            for after, event in found:  # noqa: B007  # the last id is where the next look begins
                yield event
                if isinstance(event, LAST):
                    return

    async def result(self, timeout: float | None = None) -> R:  # as `Job.result`
        """See `Job.result`."""
        until = None if timeout is None else time.monotonic() + timeout
        while (last := await self._board.ended(self.id, wait_s=_look(self.id, until))) is None:
            await self._board.picture(self.id)
        _raise_if_lost(self.id, last)
        return cast("R", _decoded(self.id, await self._board.result(self.id)))

    async def cancel(self) -> bool:
        """See `Job.cancel`."""
        return await self._board.settle(self.id, Verdict("cancelled", reason="cancelled by its caller"))

    async def release(self) -> bool:
        """See `Job.release`."""
        return await self._board.release(self.id)

    async def picture(self) -> Picture:
        """See `Job.picture`."""
        return await self._board.picture(self.id)


def _look(job_id: str, until: float | None) -> float:
    left = _LOOK_S if until is None else min(_LOOK_S, until - time.monotonic())
    if left <= 0:
        raise TimeoutError(f"job {job_id} is still running; the wait timed out")
    return left


def _raise_if_lost(job_id: str, event: Event) -> None:
    match event:
        case Failed(reason=reason):
            raise JobFailed(job_id, f"failed: {reason}")
        case Cancelled():
            raise JobCancelled(job_id, "was cancelled")
        case Done() | _:
            pass


def _decoded(job_id: str, result: str | None) -> JobResult:
    if result is None:
        raise UnknownJob(job_id)
    return decode_result(result)
