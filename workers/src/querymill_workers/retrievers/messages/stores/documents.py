"""The documents of `messages`, as lists, exports and deletions need them: sessions, over any store of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Retriever
from querymill_shared.values import value
from querymill_workers.documents.ports import Documents
from querymill_workers.ledger.ports import Version
from querymill_workers.retrievers.messages.ingest import drop_session
from querymill_workers.retrievers.messages.ports import Sessions
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.ports import Words


@value
class SessionDocuments(Documents):
    """`Documents` of chat sessions."""

    sessions: Sessions
    vectors: Mapping[Retriever, Vectors]
    words: Words

    @property
    def kind(self) -> Retriever:
        """The retriever."""
        return KIND

    @override
    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        cards = self.sessions.listed(collection, conditions, limit=limit, after=after)
        vectors, ids = self.vectors[KIND], [card.id for card in cards]
        # Before the first vector of a collection, all its passages wait.
        lacking = vectors.lacking(collection, model=vectors.active_model(collection) or "", documents=ids)
        return [card.model_copy(update={"pending": lacking.get(card.id, 0)}) for card in cards]

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return self.sessions.count(collection, conditions)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        return self.sessions.whole(collection, ids)

    def drop(self, collection: str, document: str, _version: Version) -> int:
        """See `Documents.drop`. A session of empty messages counts as one row."""
        dropped = drop_session(collection, document, self)
        return max(dropped.passages, int(dropped.was_there))

    @override
    def leave(self, collection: str) -> None:
        if not self.sessions.count(collection, {}):
            vectors = self.vectors[KIND]
            model = vectors.active_model(collection)
            vectors.forget_model(collection)
            if model is not None:
                vectors.drop_index(collection, model=model)


KIND: Final = "messages"
