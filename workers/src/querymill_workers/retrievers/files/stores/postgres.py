"""The files of code bases in PostgreSQL with pgvector. Every statement names its collection."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_workers.postgres.connection import Pool, literal, within
from querymill_workers.postgres.queries import statements
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
from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol, SymbolRole
from querymill_workers.retrievers.files.stores.patterns import Expression, glob
from querymill_workers.vectors.ports import Vector
from querymill_workers.vectors.postgres import VectorTables

_SQL: Final = statements("querymill_workers.retrievers.files.stores", "postgres.sql")

#: Files read at a time when all files are searched.
PAGE: Final = 32
VECTORS: Final = VectorTables("code_chunks", "code_vectors", "path", texts=("symbol", "text"), text_of=embedded_text)


class PostgresFiles(Files):
    """`Files` on PostgreSQL with pgvector."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def describe(self, collection: str, paths: Sequence[str]) -> Mapping[str, FileInfo]:
        rows = self._rows("file_cards", collection, paths=list(paths))
        return {row[0]: FileInfo(*row) for row in rows}

    @override
    def contents(self, collection: str, paths: Sequence[str]) -> Mapping[str, str]:
        return dict(self._rows("file_contents", collection, paths=list(paths)))

    @override
    def glob(self, collection: str, pattern: str, *, limit: int, paths: Collection[str] | None = None) -> Sequence[str]:
        every = (path for (path,) in self._rows("file_paths", collection)) if paths is None else sorted(paths)
        matched = glob(pattern, every)
        return [path for _, path in zip(range(limit), matched, strict=False)]

    @override
    def matching(
        self, collection: str, pattern: str, *, limit: int, time_s: float, paths: Collection[str] | None = None
    ) -> PatternHits:
        return Expression.read(pattern).search(self._every(collection, paths), limit=limit, time_s=time_s)

    @override
    def symbols(self, collection: str, paths: Sequence[str]) -> Mapping[str, Sequence[Symbol]]:
        found: dict[str, list[Symbol]] = {path: [] for path in self.describe(collection, paths)}
        for path, *columns in self._rows("file_symbols", collection, paths=list(found)):
            found[path].append(Symbol(*columns))
        return found

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
        asked = {"names": list(names), "roles": list(roles), "paths": None if paths is None else sorted(paths)}
        rows = self._rows("named_symbols", collection, limit=limit, **asked)
        return [FileSymbol(path, Symbol(*columns)) for path, *columns in rows]

    @override
    def frequencies(self, collection: str, names: Sequence[str]) -> Mapping[str, int]:
        counted = dict(self._rows("name_frequencies", collection, names=list(names)))
        return {name: counted.get(name, 0) for name in names}

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
        chosen = None if paths is None else list(paths)
        values = {"vector": literal(vector), "model": model, "limit": limit, "paths": chosen, "beside": list(beside)}
        rows = self._rows("nearest_files", collection, **values)
        found = [
            FoundChunk(path, CodeChunk(*columns), cosine) for _, _, path, *columns, cosine in rows if path is not None
        ]
        pending, waiting = rows[0][:2]
        return NearFiles(found, pending, frozenset(waiting))

    @override
    def counts(self, collection: str) -> FileCounts:
        (counted,) = self._rows("file_counts", collection)
        return FileCounts(*counted)

    @override
    def put(self, collection: str, prepared: Sequence[PreparedFile]) -> None:
        latest = {file.info.path: file for file in prepared}
        place = {"collection": collection, "paths": list(latest)}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["put_files"], place | _file_columns(latest.values()))
            connection.execute(_SQL["drop_symbols"], place)
            connection.execute(_SQL["add_symbols"], place | _symbol_columns(latest.values()))
            chunks = place | _chunk_columns(latest.values())
            connection.execute(_SQL["drop_chunks"], chunks)
            connection.execute(_SQL["put_chunks"], chunks)

    @override
    def drop(self, collection: str, paths: Sequence[str]) -> None:
        place = {"collection": collection, "paths": list(paths)}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["lock_files"], place)
            connection.execute(_SQL["drop_symbols"], place)
            connection.execute(_SQL["drop_chunks"], place | {"chunk_paths": [], "keys": []})
            connection.execute(_SQL["drop_files"], place)

    def _rows(self, statement: str, collection: str, **values: Any) -> list[tuple[Any, ...]]:
        with within(self._pool, collection) as connection:
            return connection.execute(_SQL[statement], values | {"collection": collection}).fetchall()

    def _every(self, collection: str, paths: Collection[str] | None) -> Iterator[tuple[str, str]]:
        """Read all files, or those at paths, a page at a time, so that no connection is held while it is searched."""
        chosen, after = None if paths is None else sorted(paths), ""
        while page := self._rows("next_files", collection, after=after, limit=PAGE, paths=chosen):
            yield from page
            after = page[-1][0]


def _file_columns(prepared: Collection[PreparedFile]) -> dict[str, list[Any]]:
    infos = [file.info for file in prepared]
    return {
        "paths": [info.path for info in infos],
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
