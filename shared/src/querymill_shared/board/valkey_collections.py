"""The board's record, on Valkey or Redis, of the collections that can be searched."""

from collections.abc import Sequence
from typing import Any

import redis
from typing_extensions import override

from querymill_shared.board import keys
from querymill_shared.board.protocol import Board
from querymill_shared.board.replies import is_written_over, of_kind


class AnnouncedBoard(Board):
    """The part of `ValkeyBoard` that knows collections."""

    _client: redis.Redis

    @override
    def add_collections(self, kind: str, collections: Sequence[str]) -> None:
        if collections:
            self._client.hset(keys.COLLECTIONS, mapping={f"{kind}/{name}": 1 for name in collections})

    @override
    def announce(self, kind: str, collections: Sequence[str]) -> None:
        fields = (keys.announced(kind), *(f"{kind}/{name}" for name in collections))
        self._client.hset(keys.COLLECTIONS, mapping=dict.fromkeys(fields, 1))

    @override
    def unannounced(self, kinds: Sequence[str]) -> list[str]:
        try:
            marks: Any = self._client.hmget(keys.COLLECTIONS, [keys.announced(kind) for kind in kinds])
        except redis.ResponseError as error:
            if not is_written_over(error):
                raise
            self._client.delete(keys.COLLECTIONS)
            return list(kinds)
        return [kind for kind, mark in zip(kinds, marks, strict=True) if mark is None]

    @override
    def collections(self, kind: str) -> set[str]:
        return of_kind(self._client.hkeys(keys.COLLECTIONS), kind)

    @override
    def remove_collections(self, kind: str, collections: Sequence[str]) -> None:
        if collections:
            self._client.hdel(keys.COLLECTIONS, *(f"{kind}/{name}" for name in collections))
