"""What the board has counted: jobs submitted and ended, how long they took, leases lost, dead letters.

The scripts count in the same transaction that writes what is counted, so no count is lost with a process or made twice.
Each shard has a hash of counts; their fields are joined here. The counts start at 0 when the board loses its data.
Ends are also counted by the minute, in hashes that expire.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Final

import redis
from redis.client import NEVER_DECODE

from querymill_shared.board import keys
from querymill_shared.board.clock import read_clock
from querymill_shared.board.replies import is_written_over
from querymill_shared.values import value

#: The figures of the last minutes are of so many whole minutes, and of the one that runs. The scripts keep them
#: for longer.
MINUTES: Final = 5
#: Of the labels of a day, so many are read of each shard.
LABELS_READ: Final = 100
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
#: Upper bounds of the classes of latency, in seconds. The script `settle` has the same.
BOUNDS: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


@value
class Latency:
    """How long the jobs of one kind took from submission to end.

    ``buckets`` pairs each bound (s), the last of which is infinite, with the number of jobs that took at most as long.
    """

    buckets: Sequence[tuple[float, int]]
    total_s: float

    @property
    def jobs(self) -> int:
        """The number of jobs."""
        return self.buckets[-1][1]

    def within(self, share: float) -> float:
        """Return a bound (s) within which this share of the jobs ended, such as 0.95."""
        return next(bound for bound, jobs in self.buckets if jobs >= share * self.jobs)


@value
class Ends:
    """How jobs ended in some time, by kind and state, and how many of those that are done lack a part, by kind."""

    ended: Mapping[tuple[str, str], int]
    incomplete: Mapping[str, int]


@value
class JobCounts:
    """Jobs by kind, and by kind and state; latencies by kind; claims that a worker lost; dead letters on the board.

    ``due_dropped`` counts the entries of due lists that could not be read. ``incomplete`` counts, of the jobs that are
    done, those whose result lacks a part, by kind. ``lately`` is about the last five minutes.
    """

    submitted: Mapping[str, int]
    ended: Mapping[tuple[str, str], int]
    latency: Mapping[str, Latency]
    leases_lost: int
    dead_letters: int
    due_dropped: int = 0
    incomplete: Mapping[str, int] = field(default_factory=dict)
    lately: Ends = Ends({}, {})


def read_totals(client: redis.Redis) -> dict[str, int]:
    """Return what was counted in all shards since the board was empty, by the fields that `joined` reads.

    Raises:
        redis.RedisError: A shard is away: without it the totals would be too small.
    """
    pipeline = client.pipeline(transaction=False)
    for shard in keys.SHARDS:
        pipeline.execute_command("HGETALL", keys.prefix(shard) + "counts", **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
    total = Counter[str]()
    for fields in pipeline.execute(raise_on_error=False):
        if isinstance(fields, Exception) and not is_written_over(fields):
            raise fields
        total.update(_numbers(fields))
    return dict(total)


def read_counts(client: redis.Redis) -> JobCounts:
    """Return the counts of all shards."""
    minutes = [f"ends:{minute}" for minute in last_minutes(read_clock(client))]
    pipeline = client.pipeline(transaction=False)
    for shard in keys.SHARDS:
        for name in ("counts", *minutes):
            # A field that another program wrote may not be text.
            counts: Any = ("HGETALL", keys.prefix(shard) + name)
            pipeline.execute_command(*counts, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
        pipeline.zcard(keys.prefix(shard) + "dead")
    returned = pipeline.execute(raise_on_error=False)
    total, lately, dead = Counter[str](), Counter[str](), 0
    step = len(minutes) + 2
    for start in range(0, len(returned), step):
        of_all, *of_minutes, listed = returned[start : start + step]
        total.update(_numbers(of_all))
        for fields in of_minutes:
            lately.update(_numbers(fields))
        dead += listed if isinstance(listed, int) else 0
    return joined(total, dead, lately)


def read_label_counts(client: redis.Redis, *, limit: int) -> list[tuple[str, str, int]]:
    """Return the labels that most of the jobs had that ended today (UTC): name, value, jobs, the largest first.

    Each shard knows its thousand largest.
    """
    today = int(read_clock(client)) // 86_400
    pipeline = client.pipeline(transaction=False)
    for shard in keys.SHARDS:
        pipeline.zrevrange(f"{keys.prefix(shard)}labelled:{today}", 0, LABELS_READ - 1, withscores=True)
    total = Counter[str]()
    for found in pipeline.execute(raise_on_error=False):
        total.update({label: int(jobs) for label, jobs in found} if isinstance(found, list) else {})
    parted = ((*label.partition(":"), jobs) for label, jobs in total.items())
    counted = [(name, value, jobs) for name, colon, value, jobs in parted if colon]
    return sorted(counted, key=lambda each: (-each[2], each[0], each[1]))[:limit]


def last_minutes(now: float) -> range:
    """Return the numbers of the last `MINUTES` and of the one that runs, in minutes since the epoch."""
    return range(int(now) // 60 - MINUTES, int(now) // 60 + 1)


def joined(total: Mapping[str, int], dead_letters: int = 0, lately: Mapping[str, int] = _NOTHING) -> JobCounts:
    """Read the fields of a hash of counts: ``submitted/kind``, ``took/kind/bound``, and those that `ends_of` reads.

    ``lately`` has the fields of the last minutes.
    """
    submitted: dict[str, int] = {}
    took: dict[str, dict[str, int]] = {}
    for field_, count in sorted(total.items()):
        match field_.split("/"):
            case ["submitted", kind]:
                submitted[kind] = count
            case ["took", kind, bound]:
                took.setdefault(kind, {})[bound] = count
            case _:
                pass
    latency = {kind: _latency(counts, total.get(f"took_ms/{kind}", 0)) for kind, counts in took.items()}
    lost, dropped, ends = total.get("leases_lost", 0), total.get("due_dropped", 0), ends_of(total)
    return JobCounts(submitted, ends.ended, latency, lost, dead_letters, dropped, ends.incomplete, ends_of(lately))


def ends_of(total: Mapping[str, int]) -> Ends:
    """Read the fields ``ended/kind/state`` and ``incomplete/kind`` of a hash of counts."""
    ended, incomplete = {}, {}
    for name, count in sorted(total.items()):
        match name.split("/"):
            case ["ended", kind, state]:
                ended[kind, state] = count
            case ["incomplete", kind]:
                incomplete[kind] = count
            case _:
                pass
    return Ends(ended, incomplete)


def of_all(latencies: Iterable[Latency]) -> Latency:
    """Return the latency of the jobs of several kinds together."""
    given = tuple(latencies)
    bounds = (*BOUNDS, float("inf"))
    upto = (sum(jobs) for jobs in zip(*((jobs for _, jobs in each.buckets) for each in given), strict=True))
    buckets = tuple(zip(bounds, upto, strict=True)) if given else ((float("inf"), 0),)
    return Latency(buckets, sum(each.total_s for each in given))


def _latency(counts: Mapping[str, int], total_ms: int) -> Latency:
    bounds = (*BOUNDS, float("inf"))
    upto = accumulate(counts.get(f"{bound:g}", 0) for bound in bounds)
    return Latency(tuple(zip(bounds, upto, strict=True)), total_ms / 1000)


def _numbers(fields: Any) -> dict[str, int]:
    """Read a hash; what another program wrote in its place, or into it, counts nothing."""
    if not isinstance(fields, dict):
        return {}
    texts = {(_text(name), _text(value)) for name, value in fields.items()}
    return {name: int(value) for name, value in texts if value.isdecimal()}


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
