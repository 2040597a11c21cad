"""The files of code bases in PostgreSQL with pgvector. Every statement names its collection."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from psycopg.types.json import Jsonb

from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.revisions import ContentHash, Revision
from querymill_workers.postgres.connection import Pool, lent, literal
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.files.ports import (
    FileCounts,
    FileInfo,
    FileSymbol,
    FoundChunk,
    PatternHits,
    PendingChunk,
    PreparedFile,
)
from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol, SymbolRole
from querymill_workers.retrievers.files.stores.patterns import Expression, glob

_SQL: Final = statements("querymill_workers.retrievers.files.stores", "postgres.sql")

#: Files read at a time when all files are searched.
PAGE: Final = 32
#: Batches of files that one process changes at a time: each holds a connection of the pool and needs a second one.
MAX_CHANGING: Final = 4


class PostgresFiles:
    """`Files` on PostgreSQL with pgvector."""

    kind: Final = "files"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._may_change = threading.BoundedSemaphore(MAX_CHANGING)

    @contextmanager
    def changing(self, collection: str, paths: Sequence[str]) -> Iterator[None]:
        """See `Files.changing`."""
        with self._may_change, lent(self._pool) as connection:
            connection.execute(_SQL["files_change"], {"collection": collection, "paths": list(paths)})
            yield

    def describe(self, collection: str, paths: Sequence[str]) -> Mapping[str, FileInfo]:
        """See `Files.describe`."""
        rows = self._rows("file_cards", collection, paths=list(paths))
        return {row[0]: FileInfo(*row) for row in rows}

    def contents(self, collection: str, paths: Sequence[str]) -> Mapping[str, str]:
        """See `Files.contents`."""
        return dict(self._rows("file_contents", collection, paths=list(paths)))

    def glob(self, collection: str, pattern: str, *, limit: int) -> Sequence[str]:
        """See `Files.glob`."""
        matched = glob(pattern, (path for (path,) in self._rows("file_paths", collection)))
        return [path for _, path in zip(range(limit), matched, strict=False)]

    def matching(self, collection: str, pattern: str, *, limit: int, time_s: float) -> PatternHits:
        """See `Files.matching`."""
        return Expression.read(pattern).search(self._every(collection), limit=limit, time_s=time_s)

    def symbols(self, collection: str, paths: Sequence[str]) -> Mapping[str, Sequence[Symbol]]:
        """See `Files.symbols`."""
        found: dict[str, list[Symbol]] = {path: [] for path in self.describe(collection, paths)}
        for path, *columns in self._rows("file_symbols", collection, paths=list(found)):
            found[path].append(Symbol(*columns))
        return found

    def named(
        self, collection: str, names: Sequence[str], *, roles: Sequence[SymbolRole], limit: int
    ) -> Sequence[FileSymbol]:
        """See `Files.named`."""
        rows = self._rows("named_symbols", collection, names=list(names), roles=list(roles), limit=limit)
        return [FileSymbol(path, Symbol(*columns)) for path, *columns in rows]

    def frequencies(self, collection: str, names: Sequence[str]) -> Mapping[str, int]:
        """See `Files.frequencies`."""
        counted = dict(self._rows("name_frequencies", collection, names=list(names)))
        return {name: counted.get(name, 0) for name in names}

    def nearest(
        self,
        collection: str,
        vector: npt.NDArray[np.float32],
        *,
        model: str,
        limit: int,
        paths: Sequence[str] | None = None,
    ) -> Sequence[FoundChunk]:
        """See `Files.nearest`."""
        chosen = None if paths is None else list(paths)
        values = {"vector": literal(vector), "model": model, "limit": limit, "paths": chosen}
        rows = self._rows("nearest_files", collection, **values)
        return [FoundChunk(path, CodeChunk(*columns), cosine) for path, *columns, cosine in rows]

    def counts(self, collection: str, *, model: str) -> FileCounts:
        """See `Files.counts`."""
        (counted,) = self._rows("file_counts", collection, model=model)
        return FileCounts(*counted)

    def revisions(self, collection: str) -> Mapping[str, Revision]:
        """See `Files.revisions`."""
        return {path: Revision(revision) for path, revision in self._rows("file_revisions", collection)}

    def collections(self) -> Sequence[str]:
        """See `Files.collections`."""
        with lent(self._pool) as connection:
            return [name for (name,) in connection.execute(_SQL["file_collections"])]

    def put(self, collection: str, prepared: Sequence[PreparedFile]) -> None:
        """See `Files.put`."""
        latest = {file.info.path: file for file in prepared}
        place = {"collection": collection, "paths": list(latest)}
        with lent(self._pool) as connection, connection.pipeline():
            connection.execute(_SQL["put_files"], place | _file_columns(latest.values()))
            connection.execute(_SQL["drop_symbols"], place)
            connection.execute(_SQL["add_symbols"], place | _symbol_columns(latest.values()))
            chunks = place | _chunk_columns(latest.values())
            connection.execute(_SQL["drop_chunks"], chunks)
            connection.execute(_SQL["put_chunks"], chunks)

    def drop(self, collection: str, paths: Sequence[str]) -> None:
        """See `Files.drop`."""
        place = {"collection": collection, "paths": list(paths)}
        with lent(self._pool) as connection:
            connection.execute(_SQL["lock_files"], place)
            connection.execute(_SQL["drop_symbols"], place)
            connection.execute(_SQL["drop_chunks"], place | {"chunk_paths": [], "keys": []})
            connection.execute(_SQL["drop_files"], place)

    def pending(
        self, collection: str, *, model: str, limit: int, paths: Sequence[str] | None = None
    ) -> Sequence[PendingChunk]:
        """See `Files.pending`."""
        chosen = None if paths is None else list(paths)
        rows = self._rows("pending_chunks", collection, model=model, limit=limit, paths=chosen)
        return [PendingChunk(path, ContentHash(key), CodeChunk(*columns)) for path, key, *columns in rows]

    def fill(self, collection: str, chunks: Sequence[PendingChunk], vectors: Vectors, *, model: str) -> None:
        """See `Files.fill`."""
        values = {
            "collection": collection,
            "model": model,
            "paths": [chunk.path for chunk in chunks],
            "keys": [chunk.key for chunk in chunks],
            "embeddings": [literal(vector) for vector in vectors],
        }
        with lent(self._pool) as connection:
            connection.execute(_SQL["fill_chunks"], values)

    def _rows(self, statement: str, collection: str, **values: Any) -> list[tuple[Any, ...]]:
        with lent(self._pool) as connection:
            return connection.execute(_SQL[statement], values | {"collection": collection}).fetchall()

    def _every(self, collection: str) -> Iterator[tuple[str, str]]:
        """Read all files, a page at a time, so that no connection is held while a page is searched."""
        after = ""
        while page := self._rows("next_files", collection, after=after, limit=PAGE):
            yield from page
            after = page[-1][0]


def _file_columns(prepared: Collection[PreparedFile]) -> dict[str, list[Any]]:
    infos = [file.info for file in prepared]
    return {
        "paths": [info.path for info in infos],
        "revisions": [info.revision for info in infos],
        "languages": [info.language for info in infos],
        "sizes": [info.size for info in infos],
        "lines": [info.lines for info in infos],
        "tokens": [info.tokens for info in infos],
        "parsers": [info.parsed_by for info in infos],
        "metadata": [Jsonb(dict(info.metadata)) for info in infos],
        "contents": [file.content for file in prepared],
    }


def _symbol_columns(prepared: Collection[PreparedFile]) -> dict[str, list[Any]]:
    rows = [(file.info.path, symbol) for file in prepared for symbol in file.symbols]
    return {
        "paths": [path for path, _ in rows],
        "names": [symbol.name for _, symbol in rows],
        "roles": [symbol.role for _, symbol in rows],
        "kinds": [symbol.kind for _, symbol in rows],
        "lines": [symbol.line for _, symbol in rows],
        "end_lines": [symbol.end_line for _, symbol in rows],
        "qualifiers": [symbol.qualifier for _, symbol in rows],
        "times": [symbol.times for _, symbol in rows],
    }


def _chunk_columns(prepared: Collection[PreparedFile]) -> dict[str, list[Any]]:
    rows = [(file.info.path, keyed.key, keyed.chunk) for file in prepared for keyed in file.chunks]
    return {
        "chunk_paths": [path for path, _, _ in rows],
        "keys": [key for _, key, _ in rows],
        "numbers": [chunk.number for _, _, chunk in rows],
        "lines": [chunk.line for _, _, chunk in rows],
        "end_lines": [chunk.end_line for _, _, chunk in rows],
        "symbols": [chunk.symbol for _, _, chunk in rows],
        "texts": [chunk.text for _, _, chunk in rows],
    }
