"""The files of code bases in this process's memory; searches scan every file."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.revisions import ContentHash, Revision
from querymill_workers.retrievers.files.ports import (
    FileCounts,
    FileInfo,
    FileSymbol,
    FoundChunk,
    PatternHits,
    PendingChunk,
    PreparedFile,
)
from querymill_workers.retrievers.files.rules.code import Symbol, SymbolRole
from querymill_workers.retrievers.files.stores.patterns import Expression, glob
from querymill_workers.text.similarity import cosine

_Vector = npt.NDArray[np.float32]


@dataclass(slots=True)
class _Stored:
    """A file, and for each chunk's key the model and vector of its embedding."""

    file: PreparedFile
    vectors: dict[ContentHash, tuple[str, _Vector]] = field(default_factory=dict)

    def vector(self, key: ContentHash, model: str) -> _Vector | None:
        known, vector = self.vectors.get(key, ("", None))
        return vector if known == model else None


class MemoryFiles:
    """`Files` without a server."""

    kind: Final = "files"

    def __init__(self) -> None:
        self._files: dict[str, dict[str, _Stored]] = {}
        self._lock = threading.RLock()
        self._changing: dict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def changing(self, collection: str, paths: Sequence[str]) -> Iterator[None]:
        """See `Files.changing`."""
        with self._lock:
            alone = [self._changing[collection, path] for path in sorted(set(paths))]
        with ExitStack() as held:
            for lock in alone:
                held.enter_context(lock)
            yield

    def describe(self, collection: str, paths: Sequence[str]) -> Mapping[str, FileInfo]:
        """See `Files.describe`."""
        return {path: stored.file.info for path, stored in self._of(collection, paths)}

    def contents(self, collection: str, paths: Sequence[str]) -> Mapping[str, str]:
        """See `Files.contents`."""
        return {path: stored.file.content for path, stored in self._of(collection, paths)}

    def glob(self, collection: str, pattern: str, *, limit: int) -> Sequence[str]:
        """See `Files.glob`."""
        return list(glob(pattern, [path for path, _ in self._of(collection)]))[:limit]

    def matching(self, collection: str, pattern: str, *, limit: int, time_s: float) -> PatternHits:
        """See `Files.matching`."""
        files = [(path, stored.file.content) for path, stored in self._of(collection)]
        return Expression.read(pattern).search(files, limit=limit, time_s=time_s)

    def symbols(self, collection: str, paths: Sequence[str]) -> Mapping[str, Sequence[Symbol]]:
        """See `Files.symbols`."""
        return {path: stored.file.symbols for path, stored in self._of(collection, paths)}

    def named(
        self, collection: str, names: Sequence[str], *, roles: Sequence[SymbolRole], limit: int
    ) -> Sequence[FileSymbol]:
        """See `Files.named`."""
        room = {(name, role): limit for name in names for role in roles}
        found = []
        for path, stored in self._of(collection):
            for symbol in stored.file.symbols:
                if room.get((symbol.name, symbol.role), 0) > 0:
                    room[symbol.name, symbol.role] -= 1
                    found.append(FileSymbol(path, symbol))
        return found

    def frequencies(self, collection: str, names: Sequence[str]) -> Mapping[str, int]:
        """See `Files.frequencies`."""
        having = [{symbol.name for symbol in stored.file.symbols} for _, stored in self._of(collection)]
        return {name: sum(name in every for every in having) for name in names}

    def nearest(
        self, collection: str, vector: _Vector, *, model: str, limit: int, paths: Sequence[str] | None = None
    ) -> Sequence[FoundChunk]:
        """See `Files.nearest`."""
        best: dict[str, FoundChunk] = {}
        for path, stored in self._of(collection, paths):
            for keyed in stored.file.chunks:
                known = stored.vector(keyed.key, model)
                near = None if known is None else cosine(known, vector)
                if near is not None and (path not in best or near > best[path].cosine):
                    best[path] = FoundChunk(path, keyed.chunk, near)
        return sorted(best.values(), key=lambda found: (-found.cosine, found.path))[:limit]

    def counts(self, collection: str, *, model: str) -> FileCounts:
        """See `Files.counts`."""
        prepared = [stored.file for _, stored in self._of(collection)]
        chunks = sum(len(file.chunks) for file in prepared)
        pending = len(self.pending(collection, model=model, limit=chunks))
        return FileCounts(len(prepared), sum(file.info.tokens for file in prepared), chunks, pending)

    def revisions(self, collection: str) -> Mapping[str, Revision]:
        """See `Files.revisions`."""
        return {path: stored.file.info.revision for path, stored in self._of(collection)}

    def collections(self) -> Sequence[str]:
        """See `Files.collections`."""
        with self._lock:
            return sorted(collection for collection, files in self._files.items() if files)

    def put(self, collection: str, prepared: Sequence[PreparedFile]) -> None:
        """See `Files.put`."""
        with self._lock:
            files = self._files.setdefault(collection, {})
            for file in prepared:
                before = files.get(file.info.path)
                kept = {keyed.key for keyed in file.chunks}
                vectors = {} if before is None else {key: v for key, v in before.vectors.items() if key in kept}
                files[file.info.path] = _Stored(file, vectors)

    def drop(self, collection: str, paths: Sequence[str]) -> None:
        """See `Files.drop`."""
        with self._lock:
            for path in paths:
                self._files.get(collection, {}).pop(path, None)

    def pending(
        self, collection: str, *, model: str, limit: int, paths: Sequence[str] | None = None
    ) -> Sequence[PendingChunk]:
        """See `Files.pending`."""
        return [
            PendingChunk(path, keyed.key, keyed.chunk)
            for path, stored in self._of(collection, paths)
            for keyed in stored.file.chunks
            if stored.vector(keyed.key, model) is None
        ][:limit]

    def fill(self, collection: str, chunks: Sequence[PendingChunk], vectors: Vectors, *, model: str) -> None:
        """See `Files.fill`."""
        with self._lock:
            files = self._files.get(collection, {})
            for chunk, vector in zip(chunks, vectors, strict=True):
                stored = files.get(chunk.path)
                if stored is not None and chunk.key in {keyed.key for keyed in stored.file.chunks}:
                    stored.vectors[chunk.key] = (model, vector)

    def _of(self, collection: str, paths: Sequence[str] | None = None) -> list[tuple[str, _Stored]]:
        with self._lock:
            files = self._files.get(collection, {})
            chosen = files if paths is None else set(paths) & files.keys()
            return [(path, files[path]) for path in sorted(chosen)]
