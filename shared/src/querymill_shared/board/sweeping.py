"""The calls of the sweeper: who sweeps, when something is due, and what."""

import math
from collections.abc import Mapping
from typing import Any, Final

from querymill_shared.board import keys
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import Due
from querymill_shared.values import value

#: Longer, in seconds, than any bell waits.
EVER_S: Final = 366 * 86_400.0


@value
class Candidates:
    """Who stands for election: how many processes do, this one among them, and the shards that none of them sweeps."""

    living: int
    free: str


def stand(candidate: str, swept: str, *, term_s: float) -> ScriptCall[Candidates]:
    """Stand for election for a term, and tell which shards this process sweeps."""
    fields: list[str | int] = [candidate, swept, int(term_s * 1000), keys.SHARDS]
    return ScriptCall("stand", [keys.SWEEPERS], fields, lambda told: Candidates(int(told[0]), told[1]))


def elect(shard: str, candidate: str, *, term_s: float) -> ScriptCall[bool]:
    """Try to become, or stay, the only sweeper of a shard. A key that was written by hand gets a term, too."""
    return ScriptCall("elect", [keys.sweeper(shard)], [candidate, int(term_s * 1000)], bool)


def resign(shard: str, candidate: str) -> ScriptCall[bool]:
    """Let another process sweep a shard, if this one does."""
    return ScriptCall("resign", [keys.sweeper(shard)], [candidate], bool)


def withdraw(candidate: str) -> ScriptCall[bool]:
    """Stand for election no more."""
    return ScriptCall("withdraw", [keys.SWEEPERS], [candidate], bool)


def heads(shards: str = keys.SHARDS) -> ScriptCall[dict[str, float]]:
    """Return in how many ms the first entry of each shard is due, <= 0 if it is due or its list is malformed."""

    def parse(left_ms: list[Any]) -> dict[str, float]:
        return {shard: math.inf if left == "" else float(left) for shard, left in zip(shards, left_ms, strict=True)}

    lists = [keys.prefix(shard) + listed for shard in shards for listed in ("due", "callbacks")]
    return ScriptCall("heads", lists, [], parse)


def sweep(
    shard: str, *, ring_grace_s: float, waits: Mapping[str, float], sweeper: str = "", limit: int = 100
) -> ScriptCall[list[Due]]:
    """Return the due entries of one shard. Each becomes due again on its own until its job ends.

    Named processes get those of shards only for which they are elected (the fence).
    """
    start = keys.prefix(shard)
    pairs = [part for queue, wait_s in waits.items() for part in (queue, round(min(wait_s, EVER_S) * 1000))]
    return ScriptCall(
        "sweep",
        [start + "due", keys.sweeper(shard), start + "callbacks"],
        [start, int(ring_grace_s * 1000), limit, sweeper, *pairs],
        lambda returned: [
            *(
                Due(job_id, None if step.startswith("@") else step, past_deadline=step == "@deadline")
                for job_id, step in (entry.split(" ") for entry in returned[0])
            ),
            *(Due("", None, callback=entry, shard=shard) for entry in returned[1]),
        ],
    )


def called_back(shard: str, entry: str, job_id: str, delivery: str) -> ScriptCall[bool]:
    """Note that the job that tells a caller is on the board. "" stands for a job or a delivery that is not known."""
    (job,) = keys.of_job(job_id or shard, "job")
    return ScriptCall("called_back", [keys.prefix(shard) + "callbacks", job], [entry, delivery], bool)
