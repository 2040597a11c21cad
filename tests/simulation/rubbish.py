"""What another program may write where the board reads: bells, members, records and keys that are none.

Nothing is promised of jobs that are written over, nor of those that share their work. All else goes on.
"""

import random
from collections.abc import Callable, Sequence
from typing import Final

from querymill_shared import bells
from querymill_shared.board import keys
from querymill_shared.queues import Queue
from tests.simulation.promises import Histories
from tests.simulation.server import KeyServer

#: Values that are none, for any field.
_VALUES: Final = ("", "x", "-1", "9e99", "{", "nan", b"\xff\xfe", "7 7 7")
#: Fields of a record and of a step, and what else a job has. A state ends a job as soon as it is none.
_FIELDS: Final = (
    "state", "deadline", "open", "created", "accepted", "queues", "order", "lane", "kind", "fingerprint", "watch",
    "labels", "trace", "ended", "asked", "reads",
)  # fmt: skip
_STEP_FIELDS: Final = ("state", "attempt", "lease", "started", "life", "deaths", "queued", "past", "notes", "facts")
_PARTS: Final = ("job", "steps", "request", "events", "hits", "queries", "rings", "callers", "result")
#: Keys of a shard that have a type.
_OF_SHARD: Final = ("recent", "open", "counts", "corpus", "callbacks", "backlog", "trails", "sweeper", "lives")
_GHOSTS: Final[Sequence[str | bytes]] = ("x", "", "a b#1", "y#1", b"\xff#1")
_ENTRIES: Final[Sequence[str | bytes]] = ("x", "a b c", b"\xff", "nobody original")
_REQUESTS: Final = ("{}", "no JSON", '{"kind": "songs"}', '{"kind": "embed", "version": 99}', b"\xff")

Write = Callable[[random.Random], None]


class OtherProgram:
    """Writes rubbish on the board."""

    def __init__(self, server: KeyServer, histories: Histories) -> None:
        self._ask = server.ask
        self._histories = histories
        self._ways: tuple[Write, ...] = (
            self._write_bell, self._write_bell, self._write_queue, self._write_due, self._write_due,
            self._write_due_list, self._write_field, self._write_field, self._write_step, self._write_step,
            self._write_part, self._write_request, self._write_in_shard, self._write_in_shard, self._write_election,
            self._write_callback, self._write_worker, self._write_worker, self._write_held, self._write_clock,
            self._write_place,
        )  # fmt: skip

    def write(self, chance: float) -> None:
        """Write something. The same chance writes the same."""
        chances = random.Random(chance)
        chances.choice(self._ways)(chances)

    # Of the fleet.

    def _write_bell(self, chances: random.Random) -> None:
        queue, jobs = chances.choice(list(Queue)), self._histories.open_jobs()
        named = [("", ""), ("a" * 32, "embed"), *((job_id, "nothing") for job_id in jobs[:1])]
        some = [b"x", b"\xff" * 20, b"{}", b"x" * 10_000, *(bells.message(queue, *names) for names in named)]
        self._ask(chances.choice(("LPUSH", "RPUSH")), queue.value, chances.choice(some))

    def _write_queue(self, chances: random.Random) -> None:
        self._replace(chances.choice(list(Queue)).value)

    def _write_worker(self, chances: random.Random) -> None:
        life = chances.choice((*_GHOSTS, *self._lives()))
        match chances.randrange(4):
            case 0:
                self._replace(chances.choice((keys.WORKERS, keys.ABOUT_WORKERS)))
            case 1:
                self._ask("HSET", keys.ABOUT_WORKERS, life, chances.choice((*_VALUES, "[1]", '{"queues": 7}')))
            case _:
                self._ask(
                    "ZADD", keys.WORKERS, chances.choice(("1", "9e15", "inf")), chances.choice(("x", b"\xff#1", "y#1"))
                )

    def _write_election(self, chances: random.Random) -> None:
        if chances.random() < 0.5:
            self._ask("SET", keys.sweeper(chances.choice(keys.SHARDS)), "somebody")
        elif chances.random() < 0.5:
            self._replace(keys.SWEEPERS)
        else:
            self._ask("HSET", keys.SWEEPERS, "somebody", chances.choice(_VALUES))

    def _write_clock(self, chances: random.Random) -> None:
        field = chances.choice(("at", "at", "asked", "confirmed", "decided"))
        self._ask("HSET", keys.CLOCK, field, chances.choice(_VALUES))

    # Of a shard.

    def _write_due(self, chances: random.Random) -> None:
        jobs = self._histories.open_jobs()
        some = [f"{job_id} {step}" for job_id in jobs[:1] for step in ("nothing", "@settle", "@other", "")]
        members = (*_ENTRIES, "", " ", "nobody @deadline", "x" * 1000, b"\xff \xff", *some)
        self._ask("ZADD", f"{self._shard(chances)}due", chances.choice(("1", "9e15")), chances.choice(members))

    def _write_due_list(self, chances: random.Random) -> None:
        shard = chances.choice(keys.SHARDS)
        for job_id in self._histories.open_jobs():
            if job_id[0] == shard:
                self._histories.spoil(job_id)  # nobody knows any more when they are due
        self._replace(f"{keys.prefix(shard)}due")

    def _write_in_shard(self, chances: random.Random) -> None:
        self._replace(self._shard(chances) + chances.choice(_OF_SHARD))

    def _write_callback(self, chances: random.Random) -> None:
        self._ask("ZADD", f"{self._shard(chances)}callbacks", "1", chances.choice((*_VALUES, "[]", '{"job_id": 1}')))

    def _write_place(self, chances: random.Random) -> None:
        place = f"{self._shard(chances)}{chances.choice(('waiting:', 'running:'))}{chances.choice(list(Queue)).value}"
        if chances.random() < 0.5:
            self._replace(place)
        else:
            self._ask("ZADD", place, "1", chances.choice(_ENTRIES))

    def _write_held(self, chances: random.Random) -> None:
        lives = self._lives()
        if lives:
            members: tuple[str | bytes, ...] = ("x", "no such 1", "nobody original 1", b"\xff", "a b c d")
            self._ask("SADD", f"{self._shard(chances)}held:{chances.choice(lives)}", chances.choice(members))

    # Of a job.

    def _write_field(self, chances: random.Random) -> None:
        if (job_id := self._spoiled(chances)) is not None:
            (job,) = keys.of_job(job_id, "job")
            self._ask("HSET", job, chances.choice(_FIELDS), chances.choice(_VALUES))

    def _write_step(self, chances: random.Random) -> None:
        if (job_id := self._spoiled(chances)) is None:
            return
        job, steps = keys.of_job(job_id, "job", "steps")
        step = chances.choice((self._ask("HGET", job, "order") or "x").split() or ["x"])
        self._ask("HSET", steps, f"{step}.{chances.choice(_STEP_FIELDS)}", chances.choice(_VALUES))

    def _write_part(self, chances: random.Random) -> None:
        if (job_id := self._spoiled(chances)) is not None:
            (part,) = keys.of_job(job_id, chances.choice(_PARTS))
            self._replace(part)

    def _write_request(self, chances: random.Random) -> None:
        if (job_id := self._spoiled(chances)) is not None:
            (request,) = keys.of_job(job_id, "request")
            self._ask("SET", request, chances.choice(_REQUESTS))

    def _spoiled(self, chances: random.Random) -> str | None:
        """Choose a job that is not to be spared."""
        jobs = self._histories.open_jobs()
        if not jobs:
            return None
        job_id = chances.choice(jobs)
        self._histories.spoil(job_id)
        return job_id

    def _shard(self, chances: random.Random) -> str:
        """Choose a shard: rather one with a job than another."""
        of_jobs = [job_id[0] for job_id in self._histories.open_jobs()]
        return keys.prefix(chances.choice(of_jobs if of_jobs and chances.random() < 0.7 else keys.SHARDS))

    def _lives(self) -> list[str]:
        read = self._ask("HKEYS", keys.ABOUT_WORKERS)
        return [life for life in read if "#" in life] if isinstance(read, list) else []

    def _replace(self, key: str) -> None:
        """Put something of another type in the place of a key."""
        self._ask("DEL", key)
        self._ask("SET", key, "x")
