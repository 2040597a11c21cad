"""Code documents as lists, exports and deletions need them."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from querymill_shared.board import Board
from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.values import value
from querymill_workers.documents.ports import Body, Documents, Entry, read_entry
from querymill_workers.retrievers.modules.entry import entry_of
from querymill_workers.retrievers.modules.ports import KIND, SPACE, Descriptions, Modules
from querymill_workers.retrievers.modules.rules.documents import encode_id, read_id, shown_id
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Version
from querymill_workers.words.ports import Words


@value
class ModuleBody(Body):
    """`Body` of code documents."""

    modules: Modules
    descriptions: Descriptions
    words: Words
    vectors: Mapping[Retriever, Vectors]
    documents: Mapping[Retriever, Documents]
    board: Board

    @override
    def entry_of(self, line: Mapping[str, Any]) -> Entry | None:
        return read_entry(line, ModuleDocument, entry_of)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        stored = self.modules.documents(collection, [read_id(id_) for id_ in ids])
        shown = {shown_id(id_): line_of(document) for id_, document in stored.items()}
        return {id_: shown[id_] for id_ in ids if id_ in shown}

    def drop(self, collection: str, document: str, _version: Version) -> int:
        """See `Body.drop`. The lexicon is learned again soon, without the document."""
        id_ = read_id(document)
        was_there = self.modules.drop(collection, id_)
        self.descriptions.drop(collection, [id_])
        self.documents[KIND].drop(collection, [document])
        self.vectors[KIND].begin_embedding(collection, [document])
        self.words.drop(collection, SPACE, [encode_id(id_)])
        if was_there:
            version = self.modules.vocabulary(collection).version
            # No bell: the sweeper rings it, once the drop is committed.
            request = LearnLexicon(collection=collection, background=True)
            self.board.submit(request, SubmitOptions(idempotency_key=f"lexicon {version}"))
        return int(was_there)

    @override
    def drop_remains(self, collection: str) -> None:
        self.modules.drop_remains(collection)
