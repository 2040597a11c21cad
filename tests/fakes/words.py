"""The words in memory, failing when a test says so."""

from collections.abc import Sequence
from typing import Any

from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import WordHit, WordUnit


class FailingWords(MemoryWords):
    """Raises what it is told to."""

    fails_with: Exception | None = None

    def put(self, collection: str, space: str, units: Sequence[WordUnit]) -> None:
        if self.fails_with is not None:
            raise self.fails_with
        super().put(collection, space, units)

    def search(
        self, collection: str, space: str, text: str, *, limit: int, groups: Sequence[str] | None = None, **asked: Any
    ) -> list[WordHit]:
        if self.fails_with is not None:
            raise self.fails_with
        return super().search(collection, space, text, limit=limit, groups=groups, **asked)
