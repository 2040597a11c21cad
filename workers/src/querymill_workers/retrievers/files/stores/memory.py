"""The files of code bases in this process's memory; searches scan every file."""

import threading
from collections.abc import Collection, Mapping, Sequence

from typing_extensions import override

from querymill_workers.retrievers.files.ports import (
    FileCounts,
    FileInfo,
    Files,
    FileSymbol,
    FoundChunk,
    NearFiles,
    PatternHits,
    PreparedFile,
)
from querymill_workers.retrievers.files.rules.chunking import embedded_text
from querymill_workers.retrievers.files.rules.code import Symbol, SymbolRole
from querymill_workers.retrievers.files.stores.patterns import Expression, glob
from querymill_workers.text.similarity import cosine
from querymill_workers.vectors.memory import MemoryVectors
from querymill_workers.vectors.ports import Passage, Vector


class MemoryFiles(Files):
    """`Files` without a server. ``vectors`` are those of the chunks."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, PreparedFile]] = {}
        self._lock = threading.RLock()
        self.vectors = MemoryVectors("files", self._passages)

    @override
    def describe(self, collection: str, paths: Sequence[str]) -> Mapping[str, FileInfo]:
        return {path: file.info for path, file in self._of(collection, paths)}

    @override
    def contents(self, collection: str, paths: Sequence[str]) -> Mapping[str, str]:
        return {path: file.content for path, file in self._of(collection, paths)}

    @override
    def glob(self, collection: str, pattern: str, *, limit: int, paths: Collection[str] | None = None) -> Sequence[str]:
        return list(glob(pattern, [path for path, _ in self._of(collection, paths)]))[:limit]

    @override
    def matching(
        self, collection: str, pattern: str, *, limit: int, time_s: float, paths: Collection[str] | None = None
    ) -> PatternHits:
        files = [(path, file.content) for path, file in self._of(collection, paths)]
        return Expression.read(pattern).search(files, limit=limit, time_s=time_s)

    @override
    def symbols(self, collection: str, paths: Sequence[str]) -> Mapping[str, Sequence[Symbol]]:
        return {path: file.symbols for path, file in self._of(collection, paths)}

    @override
    def named(
        self,
        collection: str,
        names: Sequence[str],
        *,
        roles: Sequence[SymbolRole],
        limit: int,
        paths: Collection[str] | None = None,
    ) -> Sequence[FileSymbol]:
        room = {(name, role): limit for name in names for role in roles}
        found = []
        for path, file in self._of(collection, paths):
            for symbol in file.symbols:
                if room.get((symbol.name, symbol.role), 0) > 0:
                    room[symbol.name, symbol.role] -= 1
                    found.append(FileSymbol(path, symbol))
        return found

    @override
    def frequencies(self, collection: str, names: Sequence[str]) -> Mapping[str, int]:
        having = [{symbol.name for symbol in file.symbols} for _, file in self._of(collection)]
        return {name: sum(name in every for every in having) for name in names}

    @override
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
        best: dict[str, FoundChunk] = {}
        with self._lock:
            vectors = self.vectors.vectors(collection, model=model)
            for path, file in self._of(collection, paths):
                for keyed in file.chunks:
                    known = vectors.get((path, keyed.key))
                    near = None if known is None else cosine(known, vector)
                    if near is not None and (path not in best or near > best[path].cosine):
                        best[path] = FoundChunk(path, keyed.chunk, near)
            pending = self.vectors.lacking(collection, model=model)
        found = sorted(best.values(), key=lambda found: (-found.cosine, found.path))[:limit]
        return NearFiles(found, sum(pending.values()), frozenset(pending) & frozenset(beside))

    @override
    def counts(self, collection: str) -> FileCounts:
        files = [file for _, file in self._of(collection)]
        return FileCounts(len(files), sum(file.info.tokens for file in files))

    @override
    def put(self, collection: str, prepared: Sequence[PreparedFile]) -> None:
        with self._lock:
            self._files.setdefault(collection, {}).update({file.info.path: file for file in prepared})
            self.vectors.drop_orphans(collection)

    @override
    def drop(self, collection: str, paths: Sequence[str]) -> None:
        with self._lock:
            for path in paths:
                self._files.get(collection, {}).pop(path, None)
            self.vectors.drop_orphans(collection)

    def _passages(self, collection: str) -> list[Passage]:
        return [
            Passage(path, keyed.key, embedded_text(path, keyed.chunk.symbol, keyed.chunk.text))
            for path, file in self._of(collection)
            for keyed in file.chunks
        ]

    def _of(self, collection: str, paths: Collection[str] | None = None) -> list[tuple[str, PreparedFile]]:
        with self._lock:
            files = self._files.get(collection, {})
            chosen = files if paths is None else set(paths) & files.keys()
            return [(path, files[path]) for path in sorted(chosen)]
