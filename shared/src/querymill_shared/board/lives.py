"""The calls about worker processes: that they live, and what becomes of the steps of one that died."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import redis
import redis.asyncio
from redis.client import NEVER_DECODE

from querymill_shared.board import clock, keys
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import Claim, WorkerLife
from querymill_shared.queues import Queue

#: Why a step waits again after the process that ran it died.
WORKER_DIED = "its worker died"
#: Why it waits again after the process was stopped on purpose.
WORKER_STOPPED = "its worker was stopped"
#: Why it waits again although its process lives: the connection broke after the board had noted the claim.
CLAIM_LOST = "the reply to its claim was lost"
#: A process that was silent for this share of a lease is dead. Others look eight times per lease, so that on average it
#: takes one lease to notice.
SILENT: Final = 15 / 16
#: For so long a process that stops may have a claim on its way, in seconds.
ENDING_S: Final = 600.0
#: A worker process that was not heard of for this long, in seconds, is taken for dead. It beats about once a second.
ALIVE_S = 5.0


def listening(lives: Iterable[WorkerLife]) -> Counter[str]:
    """Return how many living worker processes listen on each queue."""
    return Counter(queue for life in lives if life.beat_age_s < ALIVE_S for queue in life.queues)


def slots(lives: Iterable[WorkerLife]) -> Counter[str]:
    """Return how many steps the living worker processes of each queue run at once. Several queues may share them."""
    found: Counter[str] = Counter()
    for life in lives:
        if life.beat_age_s < ALIVE_S:
            found.update(dict.fromkeys(life.queues, life.slots))
    return found


def free(lives: Iterable[WorkerLife]) -> Counter[str]:
    """Return how many threads of the living worker processes of each queue ran nothing when these were heard of."""
    found: Counter[str] = Counter()
    for life in lives:
        if life.beat_age_s < ALIVE_S:
            found.update(dict.fromkeys(life.queues, max(0, life.slots - (life.busy or 0))))
    return found


def spare(lives: Iterable[WorkerLife]) -> Counter[str]:
    """Return how many threads the living worker processes of each queue keep for collections that hold few."""
    found: Counter[str] = Counter()
    for life in lives:
        if life.beat_age_s < ALIVE_S:
            found.update(dict.fromkeys(life.queues, life.spare))
    return found


def writes_answers(lives: Iterable[WorkerLife]) -> bool:
    """Return whether a chat model writes answers, whichever living worker process a step for chat models comes to."""
    asked = [life for life in lives if life.beat_age_s < ALIVE_S and Queue.EXPAND in life.queues]
    return bool(asked) and all(life.writes for life in asked)


def read_lives(client: redis.Redis) -> list[WorkerLife]:
    """Return the worker processes, as any client of the board's server reads them, by name."""
    pipeline: Any = client.pipeline(transaction=False)
    _ask(pipeline)
    return _lives_in(pipeline.execute())


async def read_lives_later(client: redis.asyncio.Redis) -> list[WorkerLife]:
    """Return the worker processes, as `read_lives` does."""
    pipeline: Any = client.pipeline(transaction=False)
    _ask(pipeline)
    return _lives_in(await pipeline.execute())


def _ask(pipeline: Any) -> None:
    # A field that another program wrote may not be text.
    pipeline.execute_command("ZRANGE", keys.WORKERS, 0, -1, "WITHSCORES", withscores=True, **{NEVER_DECODE: True})
    pipeline.execute_command("HGETALL", keys.ABOUT_WORKERS, **{NEVER_DECODE: True})
    clock.ask(pipeline)


def _lives_in(replies: Iterable[Any]) -> list[WorkerLife]:
    beats, about, server, noted = replies
    now = clock.board_s(server, noted)
    ahead_s = now - clock.board_s(server, None)
    found = [
        worker_life(
            life.decode(errors="replace"),
            about.get(life, b"").decode(errors="replace"),
            now - float(at) / 1000,
            beat_at=float(at) / 1000 - ahead_s,
        )
        for life, at in beats
    ]
    return sorted(found, key=lambda worker: worker.name)


def unattended(queues: str, heard: Mapping[str, int]) -> dict[str, str]:
    """Return the steps of a job on whose queue no worker listens, with that queue. ``queues`` is the job's field."""
    pairs = [pair.partition("=") for pair in queues.split()]
    return {step: queue for step, _, queue in pairs if queue in tuple(Queue) and not heard.get(queue)}


def beat(life: str, about: Mapping[str, Any] | None, *, silent_s: float) -> ScriptCall[list[str]]:
    """Note that a worker process lives, and what it is, unless that is as before (None).

    Returns the lives not heard of for ``silent_s`` seconds.
    """
    described = "" if about is None else json.dumps(about)
    return ScriptCall("beat", [keys.WORKERS, keys.ABOUT_WORKERS], [life, described, int(silent_s * 1000)], list)


def admit(shard: str, life: str) -> ScriptCall[bool]:
    """Note in a shard that a life, which has beaten, may claim steps there."""
    return ScriptCall("admit", [keys.lives(shard), keys.held(shard, life)], [life], bool)


def workers() -> ScriptCall[list[WorkerLife]]:
    """Return the worker processes, the one heard of last first."""

    def parse(returned: Any) -> list[WorkerLife]:
        now, beats, described = returned
        about = dict(zip(described[::2], described[1::2], strict=True))
        times = zip(beats[::2], beats[1::2], strict=True)
        return [worker_life(life, about.get(life, ""), (now - float(at)) / 1000) for life, at in times][::-1]

    return ScriptCall("workers", [keys.WORKERS, keys.ABOUT_WORKERS], [], parse)


def worker_life(life: str, described: str, beat_age_s: float, *, beat_at: float | None = None) -> WorkerLife:
    """Read what a worker process says of itself. What this release cannot read is left out.

    ``beat_at`` is when it was last heard of by the clock of the board's server, None if nobody compares clocks.
    """
    about: Any = {}
    with suppress(ValueError):
        about = json.loads(described)
    if not isinstance(about, dict):
        about = {}
    names = ("queues", "slots", "pid", "started", "busy", "clock", "spare")
    queues, slots, pid, started, busy, own_clock, spare = (about.get(name) for name in names)
    return WorkerLife(
        life=life,
        name=str(about.get("name") or life.rpartition("#")[0]),
        queues=tuple(map(str, queues)) if isinstance(queues, list) else (),
        slots=slots if isinstance(slots, int) else 0,
        beat_age_s=beat_age_s,
        host=str(about.get("host", "")),
        pid=pid if isinstance(pid, int) else 0,
        started=started if isinstance(started, (int, float)) else 0.0,
        release=str(about.get("release", "")),
        busy=busy if isinstance(busy, int) else None,
        clock_ahead_s=own_clock - beat_at if isinstance(own_clock, (int, float)) and beat_at is not None else None,
        writes=about.get("writes") is True,
        spare=spare if isinstance(spare, int) else 0,
    )


def release_life(
    shard: str, life: str, *, planned: bool, is_over: bool = False
) -> ScriptCall[list[tuple[str, str]]]:  # fmt: skip
    """Put back the steps of one shard that an ended worker process held. Return their jobs and names.

    A life that ``is_over`` claims none there any more, whatever it has on its way.
    """
    counter, reason = ("pauses", WORKER_STOPPED) if planned else ("deaths", WORKER_DIED)
    return _put_back(shard, life, counter, reason, over_for_s=ENDING_S if is_over else 0.0)


def put_back_lost(
    shard: str, life: str, kept: Iterable[Claim], *, held_for_s: float
) -> ScriptCall[list[tuple[str, str]]]:
    """Put back the steps of one shard that a living worker process does not know it holds. Return jobs and names."""
    return _put_back(shard, life, "outages", CLAIM_LOST, kept=kept, held_for_s=held_for_s)


def _put_back(
    shard: str,
    life: str,
    counter: str,
    reason: str,
    *,
    kept: Iterable[Claim] = (),
    held_for_s: float = 0.0,
    over_for_s: float = 0.0,
) -> ScriptCall[list[tuple[str, str]]]:
    start = keys.prefix(shard)
    members = [f"{claim.job_id} {claim.step} {claim.attempt}" for claim in kept if claim.job_id[:1] == shard]
    return ScriptCall(
        "put_back",
        [keys.held(shard, life), start + "due", keys.lives(shard)],
        [start, life, reason, counter, int(held_for_s * 1000), int(over_for_s * 1000), *members],
        lambda returned: [(job_id, step) for job_id, step in returned],
    )


def drop(life: str, *, beat_at: float | None = None) -> ScriptCall[bool]:
    """Strike a worker process off the list, unless it has beaten since a beat (ms). Return whether it was."""
    known = "" if beat_at is None else beat_at
    return ScriptCall("forget", [keys.WORKERS, keys.ABOUT_WORKERS], [life, known], bool)
