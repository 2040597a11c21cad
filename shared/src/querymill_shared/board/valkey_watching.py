"""Watching jobs on Valkey or Redis: two connections, however many jobs are watched."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, Self

import redis
from redis.exceptions import NoScriptError
from typing_extensions import override

from querymill_shared.board import keys, lives, results
from querymill_shared.board.board_client import BoardClient, cluster_of
from querymill_shared.board.connections import open_watching, run_commands
from querymill_shared.board.listening import ClusterListener, ValkeyListener
from querymill_shared.board.replies import is_written_over, sound
from querymill_shared.board.results import read_result
from querymill_shared.board.scripts import digest, source
from querymill_shared.board.watching import Listener, Seen, StreamedEvent, Subscription, WatchedBoard
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings

#: A job tells at most this many processes. The others find its end by looking.
MAX_WATCHERS: Final = 64
#: One call looks at this many jobs, or fetches this many results.
_AT_ONCE: Final = 100


class ValkeyWatchedBoard(WatchedBoard):
    """`WatchedBoard` on a Valkey or Redis server."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """Open it at the settings' Redis URL; connections are made on first use."""
        return cls(open_watching(settings.redis_url))

    @override
    def close(self) -> None:
        if isinstance(self._client, BoardClient):
            self._client.disconnect()
        else:
            self._client.connection_pool.disconnect()

    @override
    def listen(self, watcher: str) -> Listener:
        cluster = cluster_of(self._client)
        if cluster is None:
            return ValkeyListener(self._client, watcher)
        return ClusterListener(cluster, self._client, watcher)

    @override
    def watch(self, looks: Sequence[Subscription], watcher: str) -> list[Seen | Exception]:
        runs = [
            (
                keys.of_job(look.job_id, "job", "events", "result"),
                [watcher, "all" if look.every_event else "end", look.after, MAX_WATCHERS],
            )
            for look in looks
        ]
        return [_seen(look, reply) for look, reply in zip(looks, self._run("watch", runs), strict=True)]

    @override
    def overlooked(self, looks: Sequence[Subscription]) -> list[Subscription]:
        batches = list(_by_shard(looks))
        runs = [
            (
                [key for look in batch for key in keys.of_job(look.job_id, "job", "events")],
                [look.after if look.every_event else "" for look in batch],
            )
            for batch in batches
        ]
        found: list[Subscription] = []
        for batch, reply in zip(batches, self._run("overlooked", runs), strict=True):
            # If one job of a batch cannot be read, look at each of them.
            found += batch if isinstance(reply, Exception) else [batch[place - 1] for place in reply]
        return found

    @override
    def results(self, job_ids: Sequence[str]) -> list[str | None]:
        found = self._stored_results(job_ids)
        shared = [place for place, result in enumerate(found) if result is not None and result.startswith("@")]
        fetches = [results.result(job_ids[place]) for place in shared]
        replies = self._run("result", [(fetch.keys, fetch.args) for fetch in fetches])
        for place, fetch, reply in zip(shared, fetches, replies, strict=True):
            found[place] = None if isinstance(reply, Exception) else fetch.parse(reply)
        return found

    def _stored_results(self, job_ids: Sequence[str]) -> list[str | None]:
        """Return the results as they stand on the board: one that is shared is the id of a leader."""
        found: list[str | None] = []
        for start in range(0, len(job_ids), _AT_ONCE):
            some = job_ids[start : start + _AT_ONCE]
            for reply in run_commands(self._client, [("GET", *keys.of_job(job_id, "result")) for job_id in some]):
                if isinstance(reply, redis.ResponseError) and not is_written_over(reply):
                    raise reply
                found.append(reply if isinstance(reply, str) else None)
        return found

    def unattended(self, job_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `WatchedBoard.unattended`. If workers listen on all queues, this reads nothing of the jobs."""
        # By plain commands: a server takes every key of a script as one to be written, which a producer must not.
        heard = lives.listening(lives.read_lives(self._client))
        if all(heard[queue] for queue in Queue):
            return {}
        asked = job_ids[:_AT_ONCE]
        pipeline = self._client.pipeline(transaction=False)
        for job_id in asked:
            pipeline.hget(keys.of_job(job_id, "job")[0], "leader")
        works = [
            leader or job_id
            for job_id, leader in zip(asked, sound(pipeline.execute(raise_on_error=False)), strict=True)
        ]
        for job_id in works:
            pipeline.hget(keys.of_job(job_id, "job")[0], "queues")
        steps = [lives.unattended(queues or "", heard) for queues in sound(pipeline.execute(raise_on_error=False))]
        for job_id, found in zip(works, steps, strict=True):
            pipeline.hmget(keys.of_job(job_id, "steps")[0], [f"{step}.state" for step in found] or ["none"])
        waiting = {
            job_id: tuple(
                {queue: 0 for queue, state in zip(found.values(), states, strict=False) if state == "waiting"}
            )
            for job_id, found, states in zip(asked, steps, sound(pipeline.execute(raise_on_error=False)), strict=True)
        }
        return {job_id: queues for job_id, queues in waiting.items() if queues}

    def _run(self, script: str, runs: Sequence[tuple[Sequence[str], Sequence[str | int | float]]]) -> list[Any]:
        """Run a script several times in one round trip. An error of one run stands in the place of its reply."""
        if not runs:
            return []
        commands = [("EVALSHA", digest(script), len(names), *names, *arguments) for names, arguments in runs]
        replies = run_commands(self._client, commands)
        if any(isinstance(reply, NoScriptError) for reply in replies):
            self._client.script_load(source(script))
            return self._run(script, runs)
        return replies


def _by_shard(looks: Sequence[Subscription]) -> Iterator[list[Subscription]]:
    """Group looks so that the keys of a group share a hash tag, a limited number at a time."""

    def shard(look: Subscription) -> str:
        return look.job_id[:1]

    for _, group in groupby(sorted(looks, key=shard), key=shard):
        batch = list(group)
        yield from (batch[start : start + _AT_ONCE] for start in range(0, len(batch), _AT_ONCE))


def _seen(look: Subscription, reply: Any) -> Seen | Exception:
    if isinstance(reply, Exception):
        return reply
    if reply[0] == "unknown":
        return UnknownJob(look.job_id)
    _, count, entries, *result = reply
    return Seen(tuple(_told(look.job_id, *entry) for entry in entries), count, read_result(look.job_id, *result))


def _told(job_id: str, event_id: str, flat: Sequence[str]) -> StreamedEvent:
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    return StreamedEvent(job_id, event_id, 0, fields["type"], fields["body"])
