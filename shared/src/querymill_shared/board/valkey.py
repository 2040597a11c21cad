"""The board on Valkey or Redis."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import redis
from redis.exceptions import NoScriptError
from typing_extensions import override

from querymill_shared.board import (
    calls,
    closed_steps,
    dead,
    erasure,
    exchanges,
    keys,
    labelling,
    lives,
    ordering,
    results,
    trails,
)
from querymill_shared.board.attempts import AttemptPart
from querymill_shared.board.batch_shelf import BatchShelf
from querymill_shared.board.board_client import cluster_of
from querymill_shared.board.calls import LifeUnlisted, ScriptCall, VersionUnknown
from querymill_shared.board.clock import server_ahead_s
from querymill_shared.board.cluster import refuse_bells
from querymill_shared.board.connections import COMMANDS, open_commands, run_command, run_commands
from querymill_shared.board.counts import JobCounts, read_counts
from querymill_shared.board.endings import OnEnd, log_end
from querymill_shared.board.exchanges import Exchange
from querymill_shared.board.open_jobs import oldest, open_jobs
from querymill_shared.board.ordering import LargestStored, nothing_stored
from querymill_shared.board.pace import NO_PACES, QueuePace
from querymill_shared.board.picture import Cause, Claim, Claims, Outcome, Picture, Verdict, WorkerLife
from querymill_shared.board.replies import events_of, newest, sound, stream_entries, unreadable
from querymill_shared.board.scripts import command_of, parsed, source
from querymill_shared.board.submitting import Submitted
from querymill_shared.board.valkey_collections import AnnouncedBoard
from querymill_shared.board.valkey_sweeping import SweptBoard
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.events import Event, ProgressEvent
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import NO_LABELS, PLAIN, SubmitOptions
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings

T = TypeVar("T")

_log = logging.getLogger(__name__)


class ValkeyBoard(AnnouncedBoard, SweptBoard):
    """`Board` on a Valkey or Redis server. Leases, grace and lifetimes come from the settings."""

    def __init__(
        self, client: redis.Redis, settings: Settings, *, on_end: OnEnd = log_end,
        largest_stored: LargestStored = nothing_stored,
    ) -> None:  # fmt: skip
        self._client = client
        self._settings = settings
        self._on_end = on_end
        self._largest_stored = largest_stored

    @classmethod
    def connect(
        cls, settings: Settings, *, connections: int = COMMANDS, on_end: OnEnd = log_end,
        largest_stored: LargestStored = nothing_stored,
    ) -> Self:  # fmt: skip
        """Open a board at the settings' Redis URL; up to so many connections are made on first use.

        Workers give what tells the largest version in their stores.
        """
        client = open_commands(settings.redis_url, max_connections=connections)
        return cls(client, settings, on_end=on_end, largest_stored=largest_stored)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ping(self) -> None:
        """Check that the server responds and takes writes, by a write that changes nothing.

        Raises:
            redis.RedisError: It does not, as one that is full or a replica.
        """
        self._client.set(keys.READY, "", xx=True)

    def shelf(self) -> BatchShelf:
        """Return the records of ingestions."""
        return BatchShelf(self._client)

    @override
    def _run(self, call: ScriptCall[T]) -> T:
        run = command_of(call)
        try:
            returned = run_command(self._client, run)
        except NoScriptError:
            self._load(call.script)  # the server was restarted
            returned = run_command(self._client, run)
        return call.parse(returned)

    @override
    def _load(self, script: str) -> None:
        if script == "submit":  # first: no write may be accepted before this
            self._run(ordering.doubt())
            run_commands(self._client, [("DEL", keys.corpus(shard)) for shard in keys.SHARDS])  # see changed.lua
        self._client.script_load(source(script))

    def _run_all(self, asked: Sequence[ScriptCall[Any]]) -> list[Any]:
        """Run calls, one after the other, in one round trip."""
        if len(asked) == 1:
            return [self._run(asked[0])]
        replies = run_commands(self._client, [command_of(call) for call in asked])
        # A server that was restarted has no scripts yet. Others of a cluster have, and have run what they were asked.
        return [
            self._run(call) if isinstance(reply, NoScriptError) else parsed(call, reply)
            for call, reply in zip(asked, replies, strict=True)
        ]

    def _carry_out(self, exchange: Exchange[T]) -> T:
        try:
            asked = next(exchange)
            while True:
                asked = exchange.send(self._run_all(asked))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    @override
    def submit(self, request: JobRequest, options: SubmitOptions = PLAIN) -> tuple[str, bool]:
        is_on_cluster = cluster_of(self._client) is not None
        submitted = self._carry_out(exchanges.submit(request, self._settings, options, is_on_cluster=is_on_cluster))
        self._tell_ends(submitted.superseded)
        return submitted.job_id, submitted.starts_work

    def submit_and_ring(self, request: JobRequest, options: SubmitOptions = PLAIN) -> Submitted:
        """Submit a job and ring for it, if the broker is this server.

        Raises:
            Unavailable: The board is away, or on a cluster, which cannot be the broker.
        """
        refuse_bells(cluster_of(self._client))
        submitted = self._carry_out(exchanges.submit(request, self._settings, options, rings=True))
        self._tell_ends(submitted.superseded)
        return submitted

    @override
    def claim(self, job_id: str, step: str) -> Claim | None:
        held = self.claim_steps(job_id, step, life="", limit=1).held
        return held[0] if held else None

    @override
    def claim_steps(self, job_id: str, step: str, *, life: str, limit: int) -> Claims:
        claiming = calls.claim(job_id, step, lease_s=self._settings.querymill_lease_s, life=life, limit=limit)
        claimed = self._run(claiming)
        if isinstance(claimed, LifeUnlisted):
            self._carry_out(exchanges.list_life(life, self._settings))
            claimed = self._run(claiming)
        if isinstance(claimed, VersionUnknown):
            self._confirm(claimed)
            claimed = self._run(claiming)
        if isinstance(claimed, (VersionUnknown, LifeUnlisted)):  # the server was started again: the sweeper rings
            return Claims()
        if isinstance(claimed, Claims):
            return claimed
        left_ms = [self._run(calls.leave(unread)) for unread in claimed]
        raise UnreadableJob(job_id, claimed[0].broken, left_for_s=left_ms[0] / 1000)

    def _confirm(self, asked: VersionUnknown) -> None:
        """Give the writes since the server was started their versions, on its disk before one of them is begun."""
        deciding = ordering.decide(asked, self._largest_stored(asked.base_us))
        commands = [command_of(deciding), *([] if cluster_of(self._client) else [ordering.ON_DISK])]
        decided, *on_disk = run_commands(self._client, commands)
        if isinstance(decided, NoScriptError):
            self._load(deciding.script)
            decided, *on_disk = run_commands(self._client, commands)
        number = parsed(deciding, decided)
        if on_disk != ordering.NOT_ON_DISK:
            self._run(ordering.confirm(number))

    @override
    def beat(self, life: str, about: Mapping[str, Any]) -> list[str]:
        return self._run(lives.beat(life, about, silent_s=self._settings.querymill_lease_s * lives.SILENT))

    @override
    def workers(self) -> list[WorkerLife]:
        return self._run(lives.workers())

    def release_life(self, life: str, *, planned: bool = False) -> list[tuple[str, str]]:
        """See `Board.release_life`. If it was elected to sweep, it makes room for others."""
        beat_at = None if planned else run_command(self._client, ("ZSCORE", keys.WORKERS, life))
        asked = [lives.release_life(shard, life, planned=planned, is_over=planned) for shard in keys.SHARDS]
        put_back = [step for steps in self._run_all(asked) for step in steps]
        self.withdraw(life)
        self._run(lives.drop(life, beat_at=None if beat_at is None else float(beat_at)))
        return put_back

    @override
    def put_back_lost(self, life: str, kept: Collection[Claim], *, held_for_s: float) -> list[tuple[str, str]]:
        asked = [lives.put_back_lost(shard, life, kept, held_for_s=held_for_s) for shard in keys.SHARDS]
        return [step for steps in self._run_all(asked) for step in steps]

    @override
    def extend(self, held: Claim) -> bool:
        return self._run(calls.extend(held, lease_s=self._settings.querymill_lease_s))

    @override
    def take_queries(self, held: Claim, texts: Sequence[str], *, rivals: Collection[str]) -> list[str]:
        taken = held.shared_claim.take_queries(held.step, texts, rivals)
        return self._run(calls.take_queries(held, texts)) if taken is None else taken

    @override
    def finish(self, held: Claim, outcome: Outcome, *, verdict: Verdict | None = None) -> Picture | None:
        if verdict is None:
            return self._run(calls.finish(held, outcome))
        ended, picture = self._carry_out(exchanges.finish_with_job(held, outcome, verdict, self._settings))
        self._tell_ends(ended)
        return picture

    @override
    def add_steps(
        self, job_id: str, names: Sequence[str], *, queue_of: Callable[[str], Queue] | None = None
    ) -> list[str]:
        grace = self._settings.querymill_ring_grace_s
        return self._run(calls.add_steps(job_id, names, ring_grace_s=grace, queue_of=queue_of))

    @override
    def add_closed_step(self, job_id: str, name: str, outcome: Outcome) -> Picture | None:
        return self._run(closed_steps.add_closed_step(job_id, name, outcome))

    @override
    def postpone(
        self, held: Claim, *, delay_s: float, reason: str, cause: Cause, code: Code | None = None,
        parts: Sequence[AttemptPart] = (),
    ) -> bool:  # fmt: skip
        return self._run(calls.postpone(held, delay_s=delay_s, reason=reason, cause=cause, code=code, parts=parts))

    @override
    def append_event(self, job_id: str, event: ProgressEvent, *, held: Claim | None = None) -> bool:
        return self._run(calls.append_event(job_id, event, held))

    @override
    def settle(self, job_id: str, verdict: Verdict) -> bool:
        ended = self._carry_out(exchanges.settle(job_id, verdict, self._settings))
        self._tell_ends(ended)
        return bool(ended)

    @override
    def release(self, job_id: str) -> bool:
        return self._run(calls.release(job_id))

    @override
    def picture(self, job_id: str) -> Picture:
        try:
            return self._run(calls.picture(job_id))
        except redis.ResponseError as error:
            raise unreadable(job_id, error) from error

    @override
    def trail(self, job_id: str) -> Picture:
        return self._run(trails.trail(job_id))

    @override
    def events(self, job_id: str, *, after: str = "0-0") -> list[tuple[str, Event]]:
        (stream,) = keys.of_job(job_id, "events")
        found = stream_entries(self._client.xread({stream: after}))
        return [told for _, entries in found for told in events_of(entries)]

    def collections_of(self, job_ids: Sequence[str]) -> list[str]:
        """Return the collection of each job, "" for one that is not there."""
        pipeline = self._client.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.hget(keys.of_job(job_id, "job")[0], "collection")
        return [found if isinstance(found, str) else "" for found in pipeline.execute(raise_on_error=False)]

    @override
    def has_ended(self, job_id: str) -> bool:
        (job,) = keys.of_job(job_id, "job")
        state: Any = self._client.hget(job, "state")
        return state not in ("queued", "running")

    @override
    def result(self, job_id: str) -> str | None:
        return self._run(results.result(job_id))

    @override
    def recent(
        self, *, limit: int = 20, labels: Mapping[str, str] = NO_LABELS, idempotency_key: str | None = None
    ) -> list[str]:
        return self._latest(labelling.places_of(labels, idempotency_key), limit)

    def _latest(self, places: Sequence[Sequence[str]], limit: int) -> list[str]:
        """Return the latest of those that stand in all lists of a shard."""
        pipeline = self._client.pipeline(transaction=False)
        for place in (place for of_shard in places for place in of_shard):
            pipeline.zrevrange(place, 0, (limit if len(places[0]) == 1 else labelling.LISTED) - 1, withscores=True)
        return newest(labelling.in_all(places, sound(pipeline.execute(raise_on_error=False))), limit)

    @override
    def past(self, *, until: float, limit: int = 20) -> list[str]:
        pipeline = self._client.pipeline(transaction=False)
        for shard in keys.SHARDS:
            ms: Any = int(until * 1000)
            place = keys.prefix(shard) + "trails"
            pipeline.zrevrangebyscore(place, ms, "-inf", start=0, num=limit, withscores=True)
        return newest(sound(pipeline.execute(raise_on_error=False)), limit)

    @override
    def open_jobs(self, *, limit: int = 20) -> list[str]:
        return oldest(self._run_all([open_jobs(shard, limit) for shard in keys.SHARDS]), limit)

    @override
    def dead(self, *, limit: int = 20) -> list[str]:
        return self._latest([[keys.prefix(shard) + "dead"] for shard in keys.SHARDS], limit)

    @override
    def replay(self, job_id: str) -> bool:
        return self._run(dead.replay(job_id))

    @override
    def drop(self, job_id: str) -> bool:
        return self._run(dead.drop(job_id))

    @override
    def report_backlog(self, waits: Mapping[str, float], paces: Mapping[str, QueuePace] = NO_PACES) -> None:
        self._run_all([calls.report_backlog(shard, waits, paces) for shard in keys.SHARDS])

    @override
    def jobs_of(self, collection: str) -> Iterator[erasure.ListedJob]:
        return erasure.jobs_of(self._client, collection)

    @override
    def erase_jobs(self, job_ids: Collection[str]) -> int:
        asked = [[erasure.erase_job(job_id) for job_id in some] for some in erasure.some_at_a_time(job_ids)]
        there: int = sum(is_there for some in asked for is_there in self._run_all(some))
        if job_ids:
            erasure.clear_watches(self._client, job_ids)
        return there

    @override
    def mark_forgotten(self, job_id: str, names: Collection[str], *, is_write: bool) -> bool:
        return self._run(erasure.mark_forgotten(job_id, names, is_write=is_write))

    @override
    def scrub_jobs(self, jobs: Sequence[erasure.Scrubbed]) -> None:
        for some in erasure.some_at_a_time(jobs):
            self._run_all([erasure.scrub_job(scrubbed) for scrubbed in some])
        if jobs:
            erasure.clear_watches(self._client, [scrubbed.job_id for scrubbed in jobs])

    @override
    def kept_of(self, job_ids: Sequence[str]) -> Mapping[str, erasure.Kept]:
        return erasure.read_kept(self._client, job_ids)

    @override
    def trim_job(self, job_id: str, request: JobRequest) -> bool:
        return self._run(erasure.trim_job(job_id, request))

    @override
    def counts(self) -> JobCounts:
        return read_counts(self._client)

    def server_setting(self, name: str) -> str | None:
        """Return one setting of the server, or None if the server does not report it (managed services)."""
        try:
            returned: Any = self._client.config_get(name)
        except redis.ResponseError:
            return None
        return None if returned.get(name) is None else str(returned[name])

    def clock_ahead_s(self) -> float:
        """Return by how many seconds the clock of the server is ahead of this process's."""
        return server_ahead_s(self._client)
