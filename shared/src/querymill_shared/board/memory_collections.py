"""The part of the board in memory that knows which collections hold something."""

from collections.abc import Sequence


class MemoryCollections:
    """Which collections hold something of which kind."""

    def __init__(self) -> None:
        self._collections: set[tuple[str, str]] = set()
        self._announced: set[str] = set()

    def add_collections(self, kind: str, collections: Sequence[str]) -> None:
        """See `Board.add_collections`."""
        self._collections.update((kind, name) for name in collections)

    def remove_collections(self, kind: str, collections: Sequence[str]) -> None:
        """See `Board.remove_collections`."""
        self._collections.difference_update((kind, name) for name in collections)

    def announce(self, kind: str, collections: Sequence[str]) -> None:
        """See `Board.announce`."""
        self.add_collections(kind, collections)
        self._announced.add(kind)

    def unannounced(self, kinds: Sequence[str]) -> list[str]:
        """See `Board.unannounced`."""
        return [kind for kind in kinds if kind not in self._announced]

    def collections(self, kind: str) -> set[str]:
        """See `Board.collections`."""
        return {name for of_kind, name in self._collections if of_kind == kind}
