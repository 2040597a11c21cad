"""The board on Valkey or Redis."""

import logging
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, Self, TypeVar

import redis
import redis.asyncio
from redis.client import NEVER_DECODE

from querymill_shared.board import calls, keys
from querymill_shared.board.calls import Call
from querymill_shared.board.connections import (
    open_async_commands,
    open_async_waiting_reads,
    open_commands,
    open_waiting_reads,
)
from querymill_shared.board.picture import Claim, Due, Outcome, Picture, Verdict
from querymill_shared.contracts.events import Event, ProgressEvent, decode_event
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.settings import Settings

T = TypeVar("T")

_log = logging.getLogger(__name__)


@cache
def source(script: str) -> str:
    """Return a script's Lua text, with the shared prelude in front."""
    folder = resources.files("querymill_shared.board") / "lua"
    return "\n".join((folder / f"{name}.lua").read_text() for name in ("prelude", script))


class ValkeyBoard:
    """`Board` on a Valkey or Redis server. Leases, grace and lifetimes come from the settings."""

    def __init__(self, client: redis.Redis, waiting: redis.Redis, settings: Settings) -> None:
        self._client = client
        self._waiting = waiting
        self._settings = settings
        self._scripts: dict[str, Any] = {}

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """Open a board at the settings' Redis URL; connections are made on first use."""
        return cls(open_commands(settings.redis_url), open_waiting_reads(settings.redis_url), settings)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._waiting.close()

    def ping(self) -> None:
        """Check that the server responds.

        Raises:
            redis.RedisError: It does not.
        """
        self._client.ping()

    def _run(self, call: Call[T]) -> T:
        script = self._scripts.get(call.script)
        if script is None:
            script = self._scripts[call.script] = self._client.register_script(source(call.script))
        return call.parse(script(keys=call.keys, args=call.args))

    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> tuple[str, bool]:
        """See `Board.submit`."""
        grace = self._settings.querymill_ring_grace_s
        return self._run(calls.submit(request, ring_grace_s=grace, idempotency_key=idempotency_key))

    def claim(self, job_id: str, step: str) -> Claim | None:
        """See `Board.claim`."""
        return self._run(calls.claim(job_id, step, lease_s=self._settings.querymill_lease_s))

    def extend(self, held: Claim) -> bool:
        """See `Board.extend`."""
        return self._run(calls.extend(held, lease_s=self._settings.querymill_lease_s))

    def take_queries(self, held: Claim, texts: Sequence[str]) -> list[str]:
        """See `Board.take_queries`."""
        return self._run(calls.take_queries(held, texts)) if texts else []

    def finish(self, held: Claim, outcome: Outcome) -> Picture | None:
        """See `Board.finish`."""
        return self._run(calls.finish(held, outcome))

    def add_steps(self, job_id: str, names: Sequence[str]) -> list[str]:
        """See `Board.add_steps`."""
        return self._run(calls.add_steps(job_id, names, ring_grace_s=self._settings.querymill_ring_grace_s))

    def postpone(self, held: Claim, *, delay_s: float, reason: str) -> bool:
        """See `Board.postpone`."""
        return self._run(calls.postpone(held, delay_s=delay_s, reason=reason))

    def tell(self, job_id: str, event: ProgressEvent, *, held: Claim | None = None) -> bool:
        """See `Board.tell`."""
        return self._run(calls.tell(job_id, event, held))

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        """See `Board.settle`."""
        return self._run(calls.settle(job_id, verdict, result_ttl_s=self._settings.querymill_result_ttl_s))

    def release(self, job_id: str) -> bool:
        """See `Board.release`."""
        return self._run(calls.release(job_id))

    def picture(self, job_id: str) -> Picture:
        """See `Board.picture`."""
        return self._run(calls.picture(job_id))

    def events(self, job_id: str, *, after: str = "0-0", wait_s: float = 0) -> list[tuple[str, Event]]:
        """See `Board.events`."""
        (stream,) = keys.of_job(job_id, "events")
        return _events(self._waiting.xread({stream: after}, block=_block_ms(wait_s)))

    def ended(self, job_id: str, *, wait_s: float = 0) -> Event | None:
        """See `Board.ended`."""
        (stream,) = keys.of_job(job_id, "ended")
        found = _events(self._waiting.xread({stream: "0-0"}, block=_block_ms(wait_s)))
        return found[0][1] if found else None

    def result(self, job_id: str) -> str | None:
        """See `Board.result`."""
        found: Any = self._client.get(*keys.of_job(job_id, "result"))
        return None if found is None else str(found)

    def recent(self, *, most: int = 20) -> list[str]:
        """See `Board.recent`."""
        pipeline = self._client.pipeline(transaction=False)
        for shard in keys.SHARDS:
            pipeline.zrevrange(keys.prefix(shard) + "recent", 0, most - 1, withscores=True)
        return _newest(pipeline.execute(), most)

    def due(self) -> list[Due]:
        """See `Board.due`. If nothing is due, this takes one round trip for all shards."""
        pipeline = self._client.pipeline(transaction=False)
        for shard in keys.SHARDS:
            # A member that another program wrote may not be text.
            head: Any = ("ZRANGE", keys.prefix(shard) + "due", 0, 0, "WITHSCORES")
            pipeline.execute_command(*head, withscores=True, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
        pipeline.time()
        *heads, (seconds, micros) = pipeline.execute(raise_on_error=False)
        now = seconds * 1000 + micros // 1000
        waiting = [shard for shard, head in zip(keys.SHARDS, heads, strict=True) if _is_waiting(head, now)]
        return [due for shard in waiting for due in self._sweep(shard)]

    def _sweep(self, shard: str) -> list[Due]:
        try:
            return self._run(calls.sweep(shard, ring_grace_s=self._settings.querymill_ring_grace_s))
        except redis.ResponseError as error:
            # The jobs of the other shards have deadlines too.
            _log.warning("could not sweep shard %s: %s", shard, type(error).__name__)
            return []

    def add_collections(self, kind: str, collections: Sequence[str]) -> None:
        """See `Board.add_collections`."""
        if collections:
            self._client.hset(keys.COLLECTIONS, mapping={f"{kind}/{name}": 1 for name in collections})

    def collections(self, kind: str) -> set[str]:
        """See `Board.collections`."""
        return _of_kind(self._client.hkeys(keys.COLLECTIONS), kind)

    def server_setting(self, name: str) -> str | None:
        """Return one setting of the server, or None if the server does not report it (managed services)."""
        try:
            returned: Any = self._client.config_get(name)
        except redis.ResponseError:
            return None
        return None if returned.get(name) is None else str(returned[name])

    def elect(self, candidate: str, *, term_s: float) -> bool:
        """Try to become, or stay, the only sweeper of the fleet for a term. Return whether the candidate is elected."""
        term_ms = int(term_s * 1000)
        won: Any = self._client.set(keys.SWEEPER, candidate, nx=True, px=term_ms)
        if won:
            return True
        left_ms: Any = self._client.pttl(keys.SWEEPER)
        if not 0 <= left_ms <= term_ms:
            # A key that was written by hand may never expire: give it the usual term.
            self._client.pexpire(keys.SWEEPER, term_ms)
        if self._client.get(keys.SWEEPER) != candidate:
            return False
        self._client.pexpire(keys.SWEEPER, term_ms)
        return True


class AsyncValkeyBoard:
    """The producers' half of the board, asynchronous."""

    def __init__(self, client: redis.asyncio.Redis, waiting: redis.asyncio.Redis, settings: Settings) -> None:
        self._client = client
        self._waiting = waiting
        self._settings = settings
        self._scripts: dict[str, Any] = {}

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """Open a board at the settings' Redis URL; connections are made on first use."""
        return cls(open_async_commands(settings.redis_url), open_async_waiting_reads(settings.redis_url), settings)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
        await self._waiting.aclose()

    async def _run(self, call: Call[T]) -> T:
        script = self._scripts.get(call.script)
        if script is None:
            script = self._scripts[call.script] = self._client.register_script(source(call.script))
        return call.parse(await script(keys=call.keys, args=call.args))

    async def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> tuple[str, bool]:
        """See `Board.submit`."""
        grace = self._settings.querymill_ring_grace_s
        return await self._run(calls.submit(request, ring_grace_s=grace, idempotency_key=idempotency_key))

    async def settle(self, job_id: str, verdict: Verdict) -> bool:
        """See `Board.settle`."""
        return await self._run(calls.settle(job_id, verdict, result_ttl_s=self._settings.querymill_result_ttl_s))

    async def release(self, job_id: str) -> bool:
        """See `Board.release`."""
        return await self._run(calls.release(job_id))

    async def picture(self, job_id: str) -> Picture:
        """See `Board.picture`."""
        return await self._run(calls.picture(job_id))

    async def events(self, job_id: str, *, after: str = "0-0", wait_s: float = 0) -> list[tuple[str, Event]]:
        """See `Board.events`."""
        (stream,) = keys.of_job(job_id, "events")
        return _events(await self._waiting.xread({stream: after}, block=_block_ms(wait_s)))

    async def ended(self, job_id: str, *, wait_s: float = 0) -> Event | None:
        """See `Board.ended`."""
        (stream,) = keys.of_job(job_id, "ended")
        found = _events(await self._waiting.xread({stream: "0-0"}, block=_block_ms(wait_s)))
        return found[0][1] if found else None

    async def result(self, job_id: str) -> str | None:
        """See `Board.result`."""
        found = await self._client.get(*keys.of_job(job_id, "result"))
        return None if found is None else str(found)

    async def collections(self, kind: str) -> set[str]:
        """See `Board.collections`."""
        fields: Any = await self._client.hkeys(keys.COLLECTIONS)
        return _of_kind(fields, kind)


def _is_waiting(head: Any, now_ms: int) -> bool:
    """Whether a shard's first entry is due. If reading it failed, sweeping that shard repairs it."""
    return isinstance(head, redis.ResponseError) or bool(head and head[0][1] <= now_ms)


def _block_ms(wait_s: float) -> int | None:
    # XREAD takes 0 as "for ever". The wait must end before the socket's own time limit.
    return None if wait_s <= 0 else max(1, int(min(wait_s, 5) * 1000))


def _events(returned: Any) -> list[tuple[str, Event]]:
    streams = returned.values() if isinstance(returned, dict) else (entries for _, entries in returned or [])
    flat = [entry for entries in streams for entry in _entries(entries)]
    return [(event_id, decode_event(fields["body"])) for event_id, fields in flat]


def _entries(entries: Any) -> list[Any]:
    # Version 3 of the protocol puts the entries of a stream into one more list.
    return entries[0] if len(entries) == 1 and isinstance(entries[0], list) else list(entries)


def _newest(shards: Sequence[Sequence[tuple[str, float]]], limit: int) -> list[str]:
    jobs = sorted((entry for shard in shards for entry in shard), key=lambda entry: -entry[1])
    return [job_id for job_id, _ in jobs[:limit]]


def _of_kind(fields: Any, kind: str) -> set[str]:
    return {field.removeprefix(f"{kind}/") for field in fields if field.startswith(f"{kind}/")}
