"""The producers' half of the board on Valkey or Redis, asynchronous."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

import redis.asyncio
from redis.exceptions import NoScriptError, ResponseError

from querymill_shared.board import calls, dead, exchanges, keys, labelling, ordering, results, summaries, trails
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.cluster import refuse_bells
from querymill_shared.board.cluster_async import AsyncBoardClient
from querymill_shared.board.connections import CLIENT_COMMANDS, open_async_commands
from querymill_shared.board.endings import log_end
from querymill_shared.board.exchanges import Exchange
from querymill_shared.board.lives import read_lives_later
from querymill_shared.board.open_jobs import oldest, open_jobs
from querymill_shared.board.picture import Picture, Record, Verdict, WorkerLife
from querymill_shared.board.replies import newest, of_kind, sound, unreadable
from querymill_shared.board.scripts import command_of, parsed, source
from querymill_shared.board.submitting import Submitted
from querymill_shared.board.summaries import JobSummary
from querymill_shared.board.watching import StreamedEvent
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import NO_LABELS, PLAIN, SubmitOptions
from querymill_shared.settings import Settings

T = TypeVar("T")


class AsyncValkeyBoard:
    """The producers' half of the board, asynchronous."""

    def __init__(self, client: redis.asyncio.Redis, settings: Settings) -> None:
        self._client = client
        self._settings = settings

    @classmethod
    def connect(cls, settings: Settings, *, connections: int = CLIENT_COMMANDS) -> Self:
        """Open a board at the settings' Redis URL; up to so many connections are made on first use."""
        return cls(open_async_commands(settings.redis_url, max_connections=connections), settings)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _run(self, call: ScriptCall[T]) -> T:
        run = command_of(call)
        try:
            returned = await self._client.execute_command(*run)  # type: ignore[no-untyped-call]
        except NoScriptError:
            await self._load(call.script)  # the server was restarted
            returned = await self._client.execute_command(*run)  # type: ignore[no-untyped-call]
        return call.parse(returned)

    async def _load(self, script: str) -> None:
        if script == "submit":  # first: no write may be accepted before this
            await self._run(ordering.doubt())
            pipeline = self._client.pipeline(transaction=False)
            for shard in keys.SHARDS:
                pipeline.delete(keys.corpus(shard))  # see changed.lua
            await pipeline.execute(raise_on_error=False)
        await self._client.script_load(source(script))

    async def _run_all(self, asked: Sequence[ScriptCall[Any]]) -> list[Any]:
        """Run calls, one after the other, in one round trip."""
        if len(asked) == 1:
            return [await self._run(asked[0])]
        pipeline = self._client.pipeline(transaction=False)
        for call in asked:
            pipeline.execute_command(*command_of(call))
        replies = await pipeline.execute(raise_on_error=False)
        # A server that was restarted has no scripts yet. Others of a cluster have, and have run what they were asked.
        return [
            await self._run(call) if isinstance(reply, NoScriptError) else parsed(call, reply)
            for call, reply in zip(asked, replies, strict=True)
        ]

    async def _carry_out(self, exchange: Exchange[T]) -> T:
        try:
            asked = next(exchange)
            while True:
                asked = exchange.send(await self._run_all(asked))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def submit(self, request: JobRequest, options: SubmitOptions = PLAIN, *, rings: bool = False) -> Submitted:
        """Accept a job as `Board.submit` does. With ``rings`` the board, if it is the broker, rings too.

        Raises:
            Unavailable: The board is away, or on a cluster, which cannot be the broker.
        """
        cluster = await self._client.its_cluster() if isinstance(self._client, AsyncBoardClient) else None
        if rings:
            refuse_bells(cluster)
        is_on_cluster = cluster is not None
        submitted = await self._carry_out(
            exchanges.submit(request, self._settings, options, rings=rings, is_on_cluster=is_on_cluster)
        )
        for each in submitted.superseded:
            log_end(each)
        return submitted

    async def settle(self, job_id: str, verdict: Verdict) -> bool:
        """See `Board.settle`."""
        ended = await self._carry_out(exchanges.settle(job_id, verdict, self._settings))
        for each in ended:
            log_end(each)
        return bool(ended)

    async def release(self, job_id: str) -> bool:
        """See `Board.release`."""
        return await self._run(calls.release(job_id))

    async def recent(
        self, *, limit: int = 20, labels: Mapping[str, str] = NO_LABELS, idempotency_key: str | None = None
    ) -> list[str]:
        """See `Board.recent`."""
        return await self._latest(labelling.places_of(labels, idempotency_key), limit)

    async def past(self, *, until: float, limit: int = 20) -> list[str]:
        """See `Board.past`."""
        pipeline = self._client.pipeline(transaction=False)
        for shard in keys.SHARDS:
            ms: Any = int(until * 1000)
            pipeline.zrevrangebyscore(f"{keys.prefix(shard)}trails", ms, "-inf", start=0, num=limit, withscores=True)
        return newest(sound(await pipeline.execute(raise_on_error=False)), limit)

    async def dead(self, *, limit: int = 20) -> list[str]:
        """See `Board.dead`."""
        return await self._latest([[keys.prefix(shard) + "dead"] for shard in keys.SHARDS], limit)

    async def _latest(self, places: Sequence[Sequence[str]], limit: int) -> list[str]:
        """Return the latest of those that stand in all lists of a shard."""
        pipeline = self._client.pipeline(transaction=False)
        for place in (place for of_shard in places for place in of_shard):
            pipeline.zrevrange(place, 0, (limit if len(places[0]) == 1 else labelling.LISTED) - 1, withscores=True)
        return newest(labelling.in_all(places, sound(await pipeline.execute(raise_on_error=False))), limit)

    async def open_jobs(self, *, limit: int = 20) -> list[str]:
        """See `Board.open_jobs`."""
        return oldest(await self._run_all([open_jobs(shard, limit) for shard in keys.SHARDS]), limit)

    async def replay(self, job_id: str) -> bool:
        """See `Board.replay`."""
        return await self._run(dead.replay(job_id))

    async def drop(self, job_id: str) -> bool:
        """See `Board.drop`."""
        return await self._run(dead.drop(job_id))

    async def picture(self, job_id: str) -> Picture:
        """See `Board.picture`."""
        try:
            return await self._run(calls.picture(job_id))
        except ResponseError as error:
            raise unreadable(job_id, error) from error

    async def trail(self, job_id: str) -> Picture:
        """See `Board.trail`."""
        return await self._run(trails.trail(job_id))

    async def result(self, job_id: str) -> str | None:
        """See `Board.result`."""
        return await self._run(results.result(job_id))

    async def summary(self, job_id: str) -> JobSummary:
        """Return the record of a job as its own caller sees it, and the ends of its stream of events.

        Raises:
            UnknownJob: No job has this id, or its caller has released it.
            UnreadableJob: The record is malformed.
        """
        return (await self.summaries([job_id]))[0]

    async def summaries(self, job_ids: Sequence[str]) -> list[JobSummary]:
        """Return those of several jobs, in one round trip. Raises as `summary`, for the first that cannot be read."""
        try:
            return await self._run_all([summaries.summary(job_id) for job_id in job_ids])
        except ResponseError as error:
            raise unreadable(job_ids[0], error) from error

    async def records(self, job_ids: Sequence[str]) -> list[Record | None]:
        """Return the records of jobs as their own callers see them, from their trails if they are gone.

        None stands for each that has no trail either, or cannot be read.
        """
        found = await self._run_all([summaries.record_if_there(job_id) for job_id in job_ids]) if job_ids else []
        gone = [job_id for job_id, record in zip(job_ids, found, strict=True) if record is None]
        left = await self._run_all([trails.record_if_there(job_id) for job_id in gone]) if gone else []
        of_trails = dict(zip(gone, left, strict=True))
        return [record or of_trails.get(job_id) for job_id, record in zip(job_ids, found, strict=True)]

    async def events(self, job_id: str) -> list[StreamedEvent]:
        """Return what the stream of a job still holds, the first event first."""
        (stream,) = keys.of_job(job_id, "events")
        entries: Any = await self._client.xrange(stream)
        return [StreamedEvent(job_id, event_id, 0, fields["type"], fields["body"]) for event_id, fields in entries]

    async def requests(self, job_ids: Sequence[str]) -> list[str]:
        """Return what jobs asked, as JSON, "" for each of which the board holds nothing, or that follows another."""
        pipeline = self._client.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.get(*keys.of_job(job_id, "request"))
        found = await pipeline.execute(raise_on_error=False)
        return [text if isinstance(text, str) and text.startswith("{") else "" for text in found]

    async def states(self, job_ids: Sequence[str]) -> list[str]:
        """Return the states of jobs that follow no others, "" for each that is not there."""
        pipeline = self._client.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.hget(keys.of_job(job_id, "job")[0], "state")
        return [found if isinstance(found, str) else "" for found in await pipeline.execute(raise_on_error=False)]

    async def lacking(self, job_ids: Sequence[str]) -> list[str]:
        """Return the results of those of jobs that are done and lack a part, as JSON."""
        pipeline = self._client.pipeline(transaction=False)
        for job_id in job_ids:
            record, result = keys.of_job(job_id, "job", "result")
            pipeline.hget(record, "lacks")
            pipeline.type(result)  # one that another program wrote over says nothing
        replies = await pipeline.execute(raise_on_error=False)
        said = zip(job_ids, replies[::2], replies[1::2], strict=True)
        incomplete = [job_id for job_id, lack, of in said if isinstance(lack, str) and of in ("string", "none")]
        found = await self._run_all([results.result(job_id) for job_id in incomplete]) if incomplete else []
        return [result for result in found if result is not None]

    async def listed(self, *, until_ms: int, limit: int, mark: str | None = None) -> list[tuple[int, str]]:
        """Return the latest jobs that were submitted until a time, by their own (ms since the epoch) and their ids.

        With a ``mark``, only those that are listed under it. Jobs are among them of which only the trail is left.
        """
        pipeline = self._client.pipeline(transaction=False)
        for shard in keys.SHARDS:
            lists = [keys.prefix(shard) + name for name in ("recent", "trails")]
            for place in lists if mark is None else [labelling.marked(shard, mark)]:
                pipeline.zrevrangebyscore(place, until_ms, "-inf", start=0, num=limit, withscores=True)
        found = {(int(ms), job_id) for listed in await pipeline.execute() for job_id, ms in listed}
        return sorted(found, reverse=True)[:limit]

    async def workers(self) -> list[WorkerLife]:
        """Return the worker processes, by name."""
        return await read_lives_later(self._client)

    async def collections(self, kind: str) -> set[str]:
        """See `Board.collections`."""
        fields: Any = await self._client.hkeys(keys.COLLECTIONS)
        return of_kind(fields, kind)
