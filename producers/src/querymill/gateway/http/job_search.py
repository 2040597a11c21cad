"""Finding jobs on the board: the newest first, page by page, and only those that a key may see."""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from fastapi import Request
from redis.exceptions import ResponseError

from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.problems import invalid
from querymill.gateway.http.scopes import scope_of_kind
from querymill.gateway.http.times import moment
from querymill.keys import ApiKey, Scope
from querymill_shared.board import Record
from querymill_shared.board.labelling import key_mark, label_mark

#: A page looks at no more jobs than this, and for no longer than this, in seconds.
LOOKED_AT, LOOKED_S = 2_000, 0.15
#: Records that are read in one round trip.
AT_ONCE: Final = 100
#: Entries of the list of jobs that are read in one round trip, once the first page's worth was not enough.
LISTED_AT_ONCE: Final = 500
#: Later than any time, in ms since the epoch.
NEVER_MS: Final = 1 << 52
#: A listed job: when it was submitted, in ms since the epoch, and its id.
Listed = tuple[int, str]
#: The value, or the possible values, of fields of records; None is any value.
Wanted = Mapping[str, str | bool | Collection[str] | None]


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """A page of jobs, newest first; the cursor of the next page, if there is one, and the time looked back to."""

    records: Sequence[Record]
    next: str | None
    back_to: datetime | None
    looked_at: int


@dataclass(frozen=True, slots=True)
class Marked:
    """What jobs are to be listed under: all of the labels, and the idempotency key if one is given."""

    labels: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None

    @property
    def mark(self) -> str | None:
        """The one of them whose list is looked through, None if nothing is given."""
        if self.idempotency_key is not None:
            return key_mark(self.idempotency_key)
        return next((label_mark(name, value) for name, value in self.labels.items()), None)


#: Every job, whatever its labels.
ANY_JOB: Final = Marked()


async def find_jobs(
    request: Request, wanted: Wanted, *, limit: int, before: str | None = None, marked: Marked = ANY_JOB
) -> FoundJobs:
    """Find the jobs that the caller may see, newest first.

    Only so many jobs are looked at, and only for a while. Of a label, those are known that are among the latest
    thousand of a shard.

    Raises:
        Problem: The cursor is not one.
    """
    caller = caller_of(request)
    found: list[Record] = []
    last: Listed | None = None
    is_end, looked_at = True, 0
    async with aclosing(_looked_at(request, _portions(request, wanted, before, limit, marked.mark))) as looked:
        async for entry, record, is_oldest in looked:
            last, is_end, looked_at = entry, is_oldest, looked_at + 1
            if record is not None and _fits(record, wanted, marked.labels) and sees_job(caller, record):
                found.append(record)
            if len(found) == limit:
                break
    cursor = None if last is None or is_end else _cursor(last)
    return FoundJobs(found, cursor, moment(None if last is None else last[0] / 1000), looked_at)


def _fits(record: Record, wanted: Wanted, labels: Mapping[str, str]) -> bool:
    if not labels.items() <= record.labels.items():
        return False
    for name, value in wanted.items():
        possible = (value,) if isinstance(value, str | bool) else value
        if possible is not None and getattr(record, name) not in possible:
            return False
    return True


def sees_job(caller: ApiKey, record: Record) -> bool:
    """Return whether a key may see a job."""
    return caller.sees(record.collection) and may_read(caller, record.kind)


async def _listed(
    request: Request, before: Listed | None, first: int, mark: str | None
) -> AsyncGenerator[tuple[list[Listed], bool]]:
    """Yield the listed jobs in portions, the newest first, and with each whether it is the last one.

    The ``first`` portion is as long as a page: most pages need no more. The list of a busy board is long.
    """
    board, seen, size = context_of(request).mill.board, 0, min(first, AT_ONCE)
    after, beside = before, 0  # jobs of one millisecond are told apart by their ids, which the board's list cannot skip
    while seen < LOOKED_AT:
        most = size + beside + 1
        listed = await board.listed(until_ms=NEVER_MS if after is None else after[0], limit=most, mark=mark)
        older = [entry for entry in listed if after is None or entry < after]
        some, is_last = older[:size], len(listed) < most and len(older) <= size
        if some or is_last:
            yield some, is_last
        if is_last:
            return
        if not some:
            beside = 2 * most
            continue
        seen += len(some)
        same = sum(ms == some[-1][0] for ms, _ in some)
        beside = same + beside if same == len(some) else same
        after, size = some[-1], LISTED_AT_ONCE


def _portions(
    request: Request, wanted: Wanted, before: str | None, limit: int, mark: str | None
) -> AsyncGenerator[tuple[list[Listed], bool]]:
    after = _read_cursor(before)
    return _dead(request, after) if wanted.get("state") == "dead" else _listed(request, after, limit, mark)


async def _dead(request: Request, before: Listed | None) -> AsyncGenerator[tuple[list[Listed], bool]]:
    """Yield the dead jobs, in one portion. They have a list of their own, and outlive the one of all jobs."""
    records = await records_of(request, await context_of(request).mill.board.dead(limit=LOOKED_AT))
    listed = sorted(((int(each.created * 1000), each.job_id) for each in records if each is not None), reverse=True)
    yield [entry for entry in listed if before is None or entry < before], True


async def _looked_at(
    request: Request, portions: AsyncGenerator[tuple[list[Listed], bool]]
) -> AsyncGenerator[tuple[Listed, Record | None, bool]]:
    """Yield the listed jobs with their records for as long as a page may take, and always some.

    With each it says whether it is the oldest one.
    """
    ends = time.monotonic() + LOOKED_S
    async with aclosing(portions):
        async for listed, is_last in portions:
            for start in range(0, len(listed), AT_ONCE):
                some = listed[start : start + AT_ONCE]
                for entry, record in zip(some, await records_of(request, [id_ for _, id_ in some]), strict=True):
                    yield entry, record, is_last and entry == listed[-1]
                if time.monotonic() > ends:
                    return


def may_read(caller: ApiKey, kind: str) -> bool:
    """Return whether a key may see jobs of a kind."""
    return bool({scope_of_kind(kind), Scope.OPERATE} & caller.scopes)


async def records_of(request: Request, job_ids: Sequence[str]) -> list[Record | None]:
    """Return the records of jobs, from their trails if they are gone; None for each of which nothing can be read."""
    board = context_of(request).mill.board
    try:
        return await board.records(job_ids)
    except ResponseError:
        return [await _record(request, job_id) for job_id in job_ids]


async def _record(request: Request, job_id: str) -> Record | None:
    """Return the record of a job, None if another program has written over it."""
    try:
        return (await context_of(request).mill.board.records([job_id]))[0]
    except ResponseError:
        return None


def cursor_at(moment: datetime) -> str:
    """Return the cursor of the page that begins with the jobs that were submitted until a time; without a zone, UTC."""
    at = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return _cursor((min(max(round(at.timestamp() * 1000), 0), NEVER_MS - 1) + 1, ""))


def _cursor(after: Listed) -> str:
    return urlsafe_b64encode(json.dumps(after).encode()).decode().rstrip("=")


def _read_cursor(cursor: str | None) -> Listed | None:
    if cursor is None:
        return None
    try:
        ms, job_id = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        ms, job_id = -1, ""
    if not isinstance(ms, int) or not isinstance(job_id, str) or not 0 <= ms <= NEVER_MS:
        raise invalid(("before", "must be the cursor of a former page"))
    return ms, job_id
