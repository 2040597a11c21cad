"""Delete what the board holds of forgotten texts: requests, notes, hits, events and results of jobs.

Nothing is listed by collection, so that a job costs nothing more. Who forgets looks at all keys, some at a time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, TypeVar

import redis
from pydantic_core import from_json, to_json

from querymill_shared.board import keys
from querymill_shared.board.calls import READABLE_MS, ScriptCall
from querymill_shared.contracts.fields import JOINED
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.values import value

T = TypeVar("T")

#: Keys that the server looks at in one go: other callers wait that long, well below a millisecond.
LOOKED_AT: Final = 500
#: Jobs and entries of streams that are read or changed in one round trip.
AT_ONCE: Final = 200
#: Events that end a job, for which callers wait. They hold no text unless they bring the result.
_LAST: Final = ("done", "failed", "cancelled")


@value
class ListedJob:
    """A job of a collection."""

    job_id: str
    kind: str
    state: str


def some_at_a_time(many: Iterable[T]) -> Iterator[list[T]]:
    """Yield `AT_ONCE` values at a time."""
    left = iter(many)
    while some := list(islice(left, AT_ONCE)):
        yield some


def jobs_of(client: redis.Redis, collection: str) -> Iterator[ListedJob]:
    """Yield the jobs of a collection, followers too: at least all that are on the board when the first is asked for."""
    for some in some_at_a_time(client.scan_iter(match="qm:{?}:*:job", count=LOOKED_AT)):
        pipeline = client.pipeline(transaction=False)
        for key in some:
            pipeline.hmget(key, ["id", "kind", "collection", "state"])
        # Another program's key of a job's name may be of another type.
        for found in pipeline.execute(raise_on_error=False):
            match found:
                case [str(job_id), str(kind), str(of), str(state)] if collection in of.split(JOINED):
                    yield ListedJob(job_id, kind, state)
                case _:
                    continue


def erase_job(job_id: str) -> ScriptCall[bool]:
    """Delete a job. Return whether it is there still: it has not ended, or ended just now."""
    names = keys.of_job(job_id, "job", "steps", "events", "hits", "queries", "request", "result", "rings", "dead")
    return ScriptCall("forget_job", names, [job_id, READABLE_MS], bool)


@value
class Kept:
    """What the board still holds of a job that has ended: its result as JSON, and all else, such as events, as text."""

    result: str
    rest: str


def read_kept(client: redis.Redis, job_ids: Sequence[str]) -> dict[str, Kept]:
    """Return what is still held of jobs that have ended. That of a follower is in the result of its leader."""
    pipeline: Any = client.pipeline(transaction=False)
    for job_id in job_ids:
        job, result, shared, events, hits, steps = keys.of_job(
            job_id, "job", "result", "shared", "events", "hits", "steps"
        )
        pipeline.hget(job, "leader").get(result).get(shared).xrange(events).hkeys(hits).hvals(steps)
    replies = pipeline.execute(raise_on_error=False)
    found = {}
    for place, job_id in enumerate(job_ids):
        leader, result, shared, *rest = replies[6 * place : 6 * place + 6]
        own = next((text for text in (result, shared) if isinstance(text, str) and not text.startswith("@")), "")
        if not own and isinstance(leader, str):
            own = "".join(kept.result for kept in read_kept(client, [leader]).values())
        found[job_id] = Kept(own, str(rest)) if _is_object(own) else Kept("", str([own, *rest]))
    return found


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object. Another program may have written over a result."""
    with suppress(ValueError):
        return isinstance(from_json(text), dict)
    return False


@value
class Scrubbed:
    """A job that is done, of which only how it ended is to be kept. ``result`` replaces its own, unless it is ""."""

    job_id: str
    is_write: bool
    result: str = ""


def mark_forgotten(job_id: str, names: Collection[str], *, is_write: bool) -> ScriptCall[bool]:
    """Note of a job that has not ended which documents were forgotten. Return False if it has ended."""
    written = [to_json(name).decode()[1:-1] for name in names]
    return ScriptCall("mark_forgotten", keys.of_job(job_id, "job"), [int(is_write), *written], bool)


def scrub_job(scrubbed: Scrubbed) -> ScriptCall[bool]:
    """Keep of a job that is done only how it ended. Return False if it is not done."""
    names = keys.of_job(scrubbed.job_id, "job", "result")
    return ScriptCall("scrub_job", names, [int(scrubbed.is_write), scrubbed.result], bool)


def trim_job(job_id: str, request: JobRequest) -> ScriptCall[bool]:
    """Replace the request of a job. Return False if the job has none any more."""
    return ScriptCall("trim_job", keys.of_job(job_id, "job", "request"), [request.model_dump_json()], bool)


def clear_watches(client: redis.Redis, job_ids: Collection[str]) -> None:
    """Delete what the streams of watching processes hold of jobs. How they ended stays, without a result."""
    forgotten = set(job_ids)
    for stream in client.scan_iter(match="qm:{?}:watch:*", count=LOOKED_AT):
        after = "-"
        while entries := _entries(client, stream, after):
            gone = {entry: told for entry, told in entries if told.get("job") in forgotten and _has_text(told)}
            for told in gone.values():
                if told.get("type") in _LAST:
                    end: Any = {name: value for name, value in told.items() if name != "result"}
                    client.xadd(stream, end, nomkstream=True)
            if gone:
                client.xdel(stream, *gone)
            after = f"({entries[-1][0]}"


def _has_text(told: Mapping[str, str]) -> bool:
    return told.get("type") not in _LAST or "result" in told


def _entries(client: redis.Redis, stream: Any, after: str) -> list[tuple[str, dict[str, str]]]:
    try:
        entries: Any = client.xrange(stream, min=after, count=AT_ONCE)
    except redis.ResponseError:
        return []  # another program's key
    return list(entries)
