"""Files as lists, exports and deletions need them: each file is a document."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from querymill_shared.contracts.files.ingest import SourceFile
from querymill_shared.contracts.filters import Retriever
from querymill_shared.values import value
from querymill_workers.documents.ports import Body, Documents, Entry, read_entry
from querymill_workers.retrievers.files.compare import drop_rows
from querymill_workers.retrievers.files.entry import entry_of
from querymill_workers.retrievers.files.ports import Files
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Version
from querymill_workers.words.ports import Words


@value
class FileBody(Body):
    """`Body` of code bases."""

    embeds_if_asked: ClassVar[bool] = True
    files: Files
    words: Words
    vectors: Mapping[Retriever, Vectors]
    documents: Mapping[Retriever, Documents]

    @override
    def entry_of(self, line: Mapping[str, Any]) -> Entry | None:
        return read_entry(line, SourceFile, entry_of)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        contents, infos = self.files.contents(collection, ids), self.files.describe(collection, ids)
        return {
            path: {**infos[path].metadata, "path": path, "content": contents[path]}
            for path in ids
            if path in contents and path in infos
        }

    @override
    def drop(self, collection: str, document: str, _version: Version) -> int:
        was_there = bool(self.files.describe(collection, [document]))
        drop_rows(collection, [document], self)
        return int(was_there)

    @override
    def drop_remains(self, collection: str) -> None:
        """Drop nothing: nothing else is stored."""
