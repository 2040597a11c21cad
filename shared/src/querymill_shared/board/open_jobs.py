"""The jobs that have not ended, by age."""

from collections.abc import Sequence

from querymill_shared.board import keys
from querymill_shared.board.calls import ScriptCall


def open_jobs(shard: str, limit: int) -> ScriptCall[list[tuple[float, str]]]:
    """Return the oldest open jobs of a shard: when each was accepted, in ms since the epoch, and its id."""

    def parse(returned: Sequence[str]) -> list[tuple[float, str]]:
        return [(float(ms), job_id) for job_id, ms in zip(returned[::2], returned[1::2], strict=True)]

    start = keys.prefix(shard)
    return ScriptCall("open_jobs", [start + "open"], [start, limit], parse)


def oldest(shards: Sequence[Sequence[tuple[float, str]]], limit: int) -> list[str]:
    """Return the ids of the oldest jobs of all shards, the oldest first."""
    jobs = sorted(entry for shard in shards for entry in shard)
    return [job_id for _, job_id in jobs[:limit]]
