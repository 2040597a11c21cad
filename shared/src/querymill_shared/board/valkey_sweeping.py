"""What is due on the board on Valkey or Redis, and who is elected to act on it."""

import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import redis
from redis.exceptions import NoScriptError
from typing_extensions import override

from querymill_shared.board import calls, exchanges, keys, lives, sweeping
from querymill_shared.board.calls import NO_BACKLOG, ScriptCall
from querymill_shared.board.connections import run_each
from querymill_shared.board.endings import OnEnd
from querymill_shared.board.picture import Due, Ended, Picture, Verdict
from querymill_shared.board.protocol import Board
from querymill_shared.board.scripts import command_of
from querymill_shared.board.sweeping import Candidates
from querymill_shared.settings import Settings

T = TypeVar("T")

_log = logging.getLogger(__name__)


class SweptBoard(Board):
    """The part of `ValkeyBoard` that sweepers ask. No shard waits for another whose server is away."""

    _client: redis.Redis
    _settings: Settings
    _on_end: OnEnd
    _is_one_server = True

    @abstractmethod
    def _run(self, call: ScriptCall[T]) -> T: ...

    @abstractmethod
    def _load(self, script: str) -> None: ...

    def _tell_ends(self, ended: Sequence[Ended]) -> None:
        for each in ended:
            self._on_end(each)

    @override
    def due(
        self, *, waits: Mapping[str, float] = NO_BACKLOG, shards: str = keys.SHARDS, sweeper: str = ""
    ) -> list[Due]:
        """See `Board.due`. On one server, this takes one round trip for all shards if nothing is due."""
        grace = self._settings.querymill_ring_grace_s
        due_now = [shard for shard, left_ms in self._heads(shards).items() if left_ms <= 0]
        asked = [sweeping.sweep(shard, ring_grace_s=grace, waits=waits, sweeper=sweeper) for shard in due_now]
        found = list[Due]()
        for shard, due in zip(due_now, self._run_each(asked) if asked else (), strict=True):
            if isinstance(due, Exception):  # the jobs of the other shards have deadlines too
                _log.warning("could not sweep shard %s: %s", shard, type(due).__name__)
            else:
                found += due
        return found

    @override
    def pictures(self, job_ids: Sequence[str]) -> list[Picture | None]:
        read = self._run_each([calls.picture_or_none(job_id) for job_id in job_ids])
        return [None if isinstance(found, Exception) else found for found in read]

    @override
    def settle_all(self, verdicts: Mapping[str, Verdict]) -> None:
        ended = self._run_each(
            [exchanges.settling(job_id, verdict, self._settings) for job_id, verdict in verdicts.items()]
        )
        for each in ended:
            if not isinstance(each, Exception | str):  # what could not be ended becomes due again
                self._tell_ends(each)

    @override
    def called_back(self, due: Due, *, job_id: str, delivery: str) -> None:
        self._run(sweeping.called_back(due.shard, due.callback, job_id, delivery))

    @override
    def due_in(self, shards: str = keys.SHARDS) -> float:
        return min(self._heads(shards).values()) / 1000

    def _heads(self, shards: str) -> dict[str, float]:
        """Return after how many ms each shard's first entry is due, of shards whose server is not away."""
        if self._is_one_server:
            try:
                return self._run(sweeping.heads(shards))
            except redis.ResponseError:  # a cluster, whose servers have some shards each
                self._is_one_server = False
        told = self._run_each([sweeping.heads(shard) for shard in shards])
        known = [left_ms for left_ms in told if not isinstance(left_ms, Exception)]
        if not known:
            raise told[0]
        return {shard: left_ms for each in known for shard, left_ms in each.items()}

    @override
    def list_missing_lives(self) -> list[str]:
        told = run_each(self._client, [("SMEMBERS", keys.lives(shard)) for shard in keys.SHARDS])
        admitted = {life for each in told if not isinstance(each, Exception) for life in each}
        missing = sorted(admitted - {worker.life for worker in self._run(lives.workers())})
        for life in missing:
            self._run(lives.beat(life, None, silent_s=self._settings.querymill_lease_s * lives.SILENT))
        return missing

    def stand(self, candidate: str, swept: str, *, term_s: float) -> Candidates:
        """Stand for election to sweep, and tell the fleet which shards this process sweeps."""
        return self._run(sweeping.stand(candidate, swept, term_s=term_s))

    def elect(self, candidate: str, shards: str, *, term_s: float) -> str:
        """Try to become, or stay, the only sweeper of some shards for a term. Return those of them that are its own."""
        if not shards:
            return ""
        told = self._run_each([sweeping.elect(shard, candidate, term_s=term_s) for shard in shards])
        return "".join(shard for shard, is_elected in zip(shards, told, strict=True) if is_elected is True)

    def resign(self, candidate: str, shards: str) -> None:
        """Let other processes sweep some shards."""
        if shards:
            self._run_each([sweeping.resign(shard, candidate) for shard in shards])

    def withdraw(self, candidate: str) -> None:
        """Stand for election no more: other processes sweep the shards of this one."""
        self.resign(candidate, keys.SHARDS)
        self._run(sweeping.withdraw(candidate))

    def _run_each(self, asked: Sequence[ScriptCall[Any]]) -> list[Any]:
        """Run calls for shards that must not wait for each other. An error stands in the place of what it returns."""
        replies = run_each(self._client, [command_of(call) for call in asked])
        unknown = [place for place, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unknown:  # other servers of a cluster know the script, and have run it: an entry is returned once
            self._load(asked[0].script)
            again = run_each(self._client, [command_of(asked[place]) for place in unknown])
            for place, reply in zip(unknown, again, strict=True):
                replies[place] = reply
        return [
            reply if isinstance(reply, Exception) else call.parse(reply)
            for call, reply in zip(asked, replies, strict=True)
        ]
