"""Copy the jobs of a board out of its server, and put them into another one.

A job is copied as it is at one moment, together with the jobs that share its work. Lists of jobs, figures, caches and
what is known of worker processes stay behind: the lists are made again. Clients given to these functions read bytes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import redis

from querymill_shared.board import keys
from querymill_shared.board.clock import read_clock
from querymill_shared.board.erasure import LOOKED_AT, some_at_a_time
from querymill_shared.board.jobs_of_batch import BATCHES
from querymill_shared.board.labelling import KNOWN_MS
from querymill_shared.board.lives import release_life
from querymill_shared.board.scripts import source
from querymill_shared.values import value

#: The keys of a job.
PARTS: Final = ("job", "steps", "events", "hits", "queries", "request", "result", "rings", "shared", "callers")
_JOBS = "qm:{?}:*:job"
#: Keys that stand beside the jobs: which job an idempotency key belongs to, what was told of ingestions, and what jobs
#: did, also those that are gone.
_BESIDE = ("qm:{?}:idem:*", "qm:{?}:batch:*", "qm:{?}:*:trail", "qm:{?}:trails", "qm:{?}:marked:*")
_OF_JOB: Final = re.compile(rb"qm:\{[0-9a-f]\}:([0-9a-f]{32}):(\w+)")


@value
class CopiedKey:
    """A key: its value as the server dumps it, and when it expires: ms since the epoch by the server's clock, or 0."""

    name: bytes
    dump: bytes
    expires_ms: int

    @property
    def job_id(self) -> str | None:
        """The id of the job that it belongs to, or None."""
        found = _OF_JOB.fullmatch(self.name)
        return found[1].decode() if found else None

    @property
    def is_record(self) -> bool:
        """Whether it is the record of a job, of which each has one."""
        found = _OF_JOB.fullmatch(self.name)
        return found is not None and found[2] == b"job"


def copy_jobs(client: redis.Redis) -> Iterator[CopiedKey]:
    """Yield the keys of all jobs that are on the board when the first is asked for, and of what was told of ingestions.

    A job that follows from another may have been accepted while the others were copied, so there is a second look. It
    leaves out what ended after it had begun, because a job that follows from that may be missing.
    """
    copied = set[str]()
    yield from _copy_unseen(client, copied, by_ms=None)
    yield from _copy_unseen(client, copied, by_ms=int(read_clock(client) * 1000))
    for pattern in _BESIDE:
        for some in some_at_a_time(client.scan_iter(match=pattern, count=LOOKED_AT)):
            yield from copy_keys(client, some)
    yield from copy_keys(client, [BATCHES, keys.CLOCK])


def copy_keys(client: redis.Redis, names: Iterable[str | bytes]) -> Iterator[CopiedKey]:
    """Yield the keys that exist, as they are at one moment."""
    asked = [name if isinstance(name, bytes) else name.encode() for name in names]
    pipeline: Any = client.pipeline(transaction=True)
    for name in asked:
        pipeline.dump(name).pttl(name)
    replies = pipeline.execute()
    yield from _copied(client, list(chain(*zip(asked, replies[::2], replies[1::2], strict=True))))


def put_keys(client: redis.Redis, copied: Iterable[CopiedKey]) -> int:
    """Put keys in their places, but those that have expired since. Return how many jobs are among them.

    The steps that a worker process held wait again. Writes that are accepted from now on are newer than what is stored.
    """
    jobs = list[str]()
    for some in some_at_a_time(copied):
        now_ms = _now_ms(client)
        pipeline: Any = client.pipeline(transaction=False)
        for key in some:
            if not key.expires_ms or key.expires_ms > now_ms:
                pipeline.restore(key.name, key.expires_ms, key.dump, replace=True, absttl=bool(key.expires_ms))
                jobs += [key.job_id] if key.is_record and key.job_id else []
        pipeline.execute()
    held = {place for job_id in jobs for place in _list(client, job_id)}
    for shard, life in held:
        call = release_life(shard, life, planned=True)
        client.eval(source(call.script), len(call.keys), *call.keys, *call.args)
    client.eval(source("doubt"), 1, keys.CLOCK)
    return len(jobs)


def _copy_unseen(client: redis.Redis, copied: set[str], *, by_ms: int | None) -> Iterator[CopiedKey]:
    """Yield the keys of jobs that were not copied yet: of all, or of those that had ended or been accepted by then."""
    copy_job = client.register_script(source("copy_job"))
    for name in client.scan_iter(match=_JOBS, count=LOOKED_AT):
        found = _OF_JOB.fullmatch(name)
        if found is None or (job_id := found[1].decode()) in copied:
            continue
        told: Any = copy_job(keys=[name], args=[job_id, *PARTS])
        if not told or (by_ms is not None and int(told[1] or told[0]) > by_ms):
            continue
        own = list(_copied(client, told[2:]))
        sharing = {key.job_id for key in own if key.job_id}
        if not told[1] and not sharing.isdisjoint(copied):
            continue  # it joined work that had been copied without it
        yield from (key for key in own if key.job_id not in copied)
        copied |= sharing


def _list(client: redis.Redis, job_id: str) -> Iterator[tuple[str, str]]:
    """List a job where it belongs. Yield its shard with each worker process that held a step of it."""
    shard = job_id[0]
    start = keys.prefix(shard)
    places = [*keys.of_job(job_id, "job", "steps", "due"), f"{start}open", f"{start}dead", f"{start}recent"]
    lives: Any = client.eval(source("list_job"), len(places), *places, job_id, keys.held(shard, ""), KNOWN_MS)
    for life in lives:
        yield shard, life.decode()


def _copied(client: redis.Redis, told: Sequence[Any]) -> Iterator[CopiedKey]:
    """Yield keys of which a server told the name, the dump, and in how many ms they expire."""
    now_ms = _now_ms(client)
    for name, dump, ttl_ms in zip(told[::3], told[1::3], told[2::3], strict=True):
        if dump is not None and ttl_ms not in (0, -2):  # else it is not there, or expired meanwhile
            yield CopiedKey(name, dump, 0 if ttl_ms < 0 else now_ms + ttl_ms)


def _now_ms(client: redis.Redis) -> int:
    seconds, micros = client.time()
    return int(seconds) * 1000 + int(micros) // 1000
