"""The documents of `modules`, as lists, exports and deletions need them, over any store of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from querymill_shared.board import Board
from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_workers.documents.ports import Documents
from querymill_workers.ledger.ports import Version
from querymill_workers.retrievers.modules.ports import SPACE, Descriptions, Modules
from querymill_workers.retrievers.modules.rules.documents import encode_id, read_id, shown_id
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.ports import Words


class ModuleDocuments(Documents):
    """`Documents` of code documents."""

    kind: Final[Retriever] = "modules"

    def __init__(
        self, modules: Modules, descriptions: Descriptions, vectors: Vectors, words: Words, board: Board
    ) -> None:
        self._modules = modules
        self._descriptions = descriptions
        self._vectors = vectors
        self._words = words
        self._board = board

    @override
    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        ids = self._modules.listed(collection, conditions, limit=limit, after=after)
        stored = self._modules.documents(collection, ids)
        return [_card_of(stored[id_]) for id_ in ids if id_ in stored]

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return self._modules.count(collection, conditions)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        stored = self._modules.documents(collection, [read_id(id_) for id_ in ids])
        shown = {shown_id(id_): line_of(document) for id_, document in stored.items()}
        return {id_: shown[id_] for id_ in ids if id_ in shown}

    def drop(self, collection: str, document: str, _version: Version) -> int:
        """See `Documents.drop`. The lexicon is learned again soon, without the document."""
        id_ = read_id(document)
        was_there = self._modules.drop(collection, id_)
        self._descriptions.drop(collection, [id_])
        self._vectors.begin_embedding(collection, [document])
        self._words.drop(collection, SPACE, [encode_id(id_)])
        if was_there:
            version = self._modules.vocabulary(collection).version
            # No bell: the sweeper rings it, once the drop is committed.
            request = LearnLexicon(collection=collection, background=True)
            self._board.submit(request, idempotency_key=f"lexicon {version}")
        return int(was_there)

    @override
    def leave(self, collection: str) -> None:
        self._modules.leave(collection)
        if not self._modules.count(collection, {}):
            self._vectors.forget_model(collection)


def _card_of(document: ModuleDocument) -> DocumentCard:
    return DocumentCard(
        id=shown_id(document.document),
        title=document.file_path,
        size=len(document.code),
        unit="characters",
        metadata=document.metadata,
    )
