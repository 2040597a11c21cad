"""Documents become jobs: as many in one as its limits allow."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PackLimits:
    """What one job holds at most: so many documents, of so large a ``size`` together. One alone may be larger."""

    documents: int
    size: int


class Packer(Generic[T]):
    """Holds documents for one job until the next one is too many, too large, or another version of one that is held."""

    def __init__(
        self, limits: PackLimits, *, size_of: Callable[[T], int], name_of: Callable[[T], str] | None = None
    ) -> None:
        """Hold documents of a size. Without ``name_of`` no two are versions of one."""
        self._limits = limits
        self._size_of, self._name_of = size_of, name_of
        self._held: list[T] = []
        self._names: set[str] = set()
        self._size = 0

    def put(self, document: T) -> Sequence[T]:
        """Hold a document. Return those that had to go before it, in their order; () if it joins them."""
        size = self._size_of(document)
        name = None if self._name_of is None else self._name_of(document)
        is_full = len(self._held) == self._limits.documents or self._size + size > self._limits.size
        ready = self.take() if is_full or name in self._names else ()
        self._held.append(document)
        self._names |= set() if name is None else {name}
        self._size += size
        return ready

    def take(self) -> Sequence[T]:
        """Return the documents that are held, and hold none."""
        taken = self._held
        self._held, self._names, self._size = [], set(), 0
        return taken

    def cut(self, documents: Iterable[T]) -> Iterator[Sequence[T]]:
        """Cut documents into jobs, in their order."""
        for document in documents:
            if ready := self.put(document):
                yield ready
        if rest := self.take():
            yield rest
