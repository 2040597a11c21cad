"""What the board has counted: jobs submitted and ended, how long they took, leases lost, dead letters.

The scripts count in the same transaction that writes what is counted, so no count is lost with a process or made twice.
Each shard has a hash of counts; their fields are joined here. The counts start at 0 when the board loses its data.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

import redis
from redis.client import NEVER_DECODE

from querymill_shared.board import keys
from querymill_shared.values import frozen

#: Upper bounds of the classes of latency, in seconds. The script `settle` has the same.
BOUNDS: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


@frozen
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


@frozen
class JobCounts:
    """Jobs by kind, and by kind and state; latencies by kind; claims that a worker lost; dead letters on the board.

    ``due_dropped`` counts the entries of due lists that could not be read.
    """

    submitted: Mapping[str, int]
    ended: Mapping[tuple[str, str], int]
    latency: Mapping[str, Latency]
    leases_lost: int
    dead_letters: int
    due_dropped: int = 0


def read_counts(client: redis.Redis) -> JobCounts:
    """Return the counts of all shards."""
    pipeline = client.pipeline(transaction=False)
    for shard in keys.SHARDS:
        # A field that another program wrote may not be text.
        counts: Any = ("HGETALL", keys.prefix(shard) + "counts")
        pipeline.execute_command(*counts, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
        pipeline.zcard(keys.prefix(shard) + "dead")
    returned = pipeline.execute(raise_on_error=False)
    total: Counter[str] = Counter()
    for fields in returned[::2]:
        total.update(_numbers(fields))
    dead = sum(count for count in returned[1::2] if isinstance(count, int))
    return joined(total, dead)


def joined(total: Mapping[str, int], dead_letters: int) -> JobCounts:
    """Read the fields of a hash of counts: ``submitted/kind``, ``ended/kind/state``, ``took/kind/bound``."""
    submitted, ended = {}, {}
    took: dict[str, dict[str, int]] = {}
    for field, count in sorted(total.items()):
        match field.split("/"):
            case ["submitted", kind]:
                submitted[kind] = count
            case ["ended", kind, state]:
                ended[kind, state] = count
            case ["took", kind, bound]:
                took.setdefault(kind, {})[bound] = count
            case _:
                pass
    latency = {kind: _latency(counts, total.get(f"took_ms/{kind}", 0)) for kind, counts in took.items()}
    return JobCounts(submitted, ended, latency, total.get("leases_lost", 0), dead_letters, total.get("due_dropped", 0))


def bound_of(seconds: float) -> str:
    """Return the class of a latency, as it is written on the board."""
    return next((f"{bound:g}" for bound in BOUNDS if seconds <= bound), "inf")


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
