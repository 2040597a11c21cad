"""The files of code bases in this process's memory; searches scan every file."""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from querymill_shared.contracts.filters import Filterable, passes
from querymill_workers.jobs.revisions import ContentHash, Revision
from querymill_workers.retrievers.files.ports import (
    FileCard,
    FileCounts,
    FileInfo,
    FileSymbol,
    FoundChunk,
    NearFiles,
    PatternHits,
    PendingChunk,
    PreparedFile,
    Vector,
)
from querymill_workers.retrievers.files.rules.code import Symbol, SymbolRole
from querymill_workers.retrievers.files.stores.patterns import Expression, glob
from querymill_workers.text.similarity import cosine


@dataclass(slots=True)
class _Stored:
    """A file, and by chunk's key and model the vectors of its chunks: None where the text was refused."""

    file: PreparedFile
    vectors: dict[tuple[ContentHash, str], Vector | None] = field(default_factory=dict)


class MemoryFiles:
    """`Files` without a server."""

    kind: Final = "files"

    def __init__(self) -> None:
        self._files: dict[str, dict[str, _Stored]] = {}
        self._lock = threading.RLock()
        self._models: dict[str, str] = {}

    def describe(self, collection: str, paths: Sequence[str]) -> Mapping[str, FileInfo]:
        """See `Files.describe`."""
        return {path: stored.file.info for path, stored in self._of(collection, paths)}

    def contents(self, collection: str, paths: Sequence[str]) -> Mapping[str, str]:
        """See `Files.contents`."""
        return {path: stored.file.content for path, stored in self._of(collection, paths)}

    def passing(self, collection: str, conditions: Mapping[str, Any]) -> Sequence[str]:
        """See `Files.passing`."""
        return [path for path, stored in self._of(collection) if passes(conditions, _filterable(stored.file.info))]

    def cards(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[FileCard]:
        """See `Files.cards`."""
        paths = [path for path in self.passing(collection, conditions) if after is None or path > after][:limit]
        model = self._models.get(collection)
        pending = [] if model is None else [chunk.path for chunk in self._pending(collection, model, paths)]
        return [
            FileCard(path, stored.file.info.size, stored.file.info.metadata, pending.count(path))
            for path, stored in self._of(collection, paths)
        ]

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """See `Files.count`."""
        return len(self.passing(collection, conditions))

    def leave(self, collection: str) -> None:
        """See `Files.leave`."""
        with self._lock:
            if not self._files.get(collection):
                self._models.pop(collection, None)

    def glob(self, collection: str, pattern: str, *, limit: int, paths: Collection[str] | None = None) -> Sequence[str]:
        """See `Files.glob`."""
        return list(glob(pattern, [path for path, _ in self._of(collection, paths)]))[:limit]

    def matching(
        self, collection: str, pattern: str, *, limit: int, time_s: float, paths: Collection[str] | None = None
    ) -> PatternHits:
        """See `Files.matching`."""
        files = [(path, stored.file.content) for path, stored in self._of(collection, paths)]
        return Expression.read(pattern).search(files, limit=limit, time_s=time_s)

    def symbols(self, collection: str, paths: Sequence[str]) -> Mapping[str, Sequence[Symbol]]:
        """See `Files.symbols`."""
        return {path: stored.file.symbols for path, stored in self._of(collection, paths)}

    def named(
        self,
        collection: str,
        names: Sequence[str],
        *,
        roles: Sequence[SymbolRole],
        limit: int,
        paths: Collection[str] | None = None,
    ) -> Sequence[FileSymbol]:
        """See `Files.named`."""
        room = {(name, role): limit for name in names for role in roles}
        found = []
        for path, stored in self._of(collection, paths):
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
        self,
        collection: str,
        vector: Vector,
        *,
        model: str,
        limit: int,
        paths: Sequence[str] | None = None,
        beside: Sequence[str] = (),
    ) -> NearFiles:
        """See `Files.nearest`."""
        best: dict[str, FoundChunk] = {}
        with self._lock:
            for path, stored in self._of(collection, paths):
                for keyed in stored.file.chunks:
                    known = stored.vectors.get((keyed.key, model))
                    near = None if known is None else cosine(known, vector)
                    if near is not None and (path not in best or near > best[path].cosine):
                        best[path] = FoundChunk(path, keyed.chunk, near)
            pending = [chunk.path for chunk in self._pending(collection, model, None)]
        found = sorted(best.values(), key=lambda found: (-found.cosine, found.path))[:limit]
        return NearFiles(found, len(pending), frozenset(pending) & frozenset(beside))

    def counts(self, collection: str, *, model: str) -> FileCounts:
        """See `Files.counts`."""
        prepared = [stored.file for _, stored in self._of(collection)]
        chunks = sum(len(file.chunks) for file in prepared)
        pending = len(self._pending(collection, model, None))
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
                known = {} if before is None else before.vectors
                vectors: dict[tuple[ContentHash, str], Vector | None] = {
                    place: v for place, v in known.items() if place[0] in kept and v is not None
                }
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
        return self._pending(collection, model, paths)[:limit]

    def still_pending(self, collection: str, chunks: Sequence[PendingChunk], *, model: str) -> Sequence[PendingChunk]:
        """See `Files.still_pending`."""
        left = {(chunk.path, chunk.key) for chunk in self._pending(collection, model, [chunk.path for chunk in chunks])}
        return [chunk for chunk in chunks if (chunk.path, chunk.key) in left]

    def fill(
        self, collection: str, chunks: Sequence[PendingChunk], vectors: Sequence[Vector | None], *, model: str
    ) -> None:
        """See `Files.fill`."""
        with self._lock:
            files = self._files.get(collection, {})
            for chunk, vector in zip(chunks, vectors, strict=True):
                stored = files.get(chunk.path)
                if stored is not None and chunk.key in {keyed.key for keyed in stored.file.chunks}:
                    stored.vectors[chunk.key, model] = vector

    def retry(self, collection: str, *, model: str) -> None:
        """See `Files.retry`."""
        with self._lock:
            for _, stored in self._of(collection):
                refused = [place for place, vector in stored.vectors.items() if place[1] == model and vector is None]
                for place in refused:
                    del stored.vectors[place]

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """See `Files.searched_by`."""
        with self._lock:
            return self._models.get(collection) if first is None else self._models.setdefault(collection, first)

    def switch(self, collection: str, *, model: str) -> bool:
        """See `Files.switch`."""
        with self._lock:
            if self._pending(collection, model, None):
                return False
            self._models[collection] = model
            return True

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `Files.drop_other_models`."""
        with self._lock:
            for _, stored in self._of(collection):
                stored.vectors = {place: vector for place, vector in stored.vectors.items() if place[1] == model}

    def _pending(self, collection: str, model: str, paths: Sequence[str] | None) -> list[PendingChunk]:
        return [
            PendingChunk(path, keyed.key, keyed.chunk)
            for path, stored in self._of(collection, paths)
            for keyed in stored.file.chunks
            if (keyed.key, model) not in stored.vectors
        ]

    def _of(self, collection: str, paths: Collection[str] | None = None) -> list[tuple[str, _Stored]]:
        with self._lock:
            files = self._files.get(collection, {})
            chosen = files if paths is None else set(paths) & files.keys()
            return [(path, files[path]) for path in sorted(chosen)]


def _filterable(info: FileInfo) -> Filterable:
    return Filterable.of(info.metadata, path=info.path, language=info.language or None)
