"""Sessions as documents: listed, exported and dropped like those of every retriever."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from querymill_shared.board import Board
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.vectors import EmbedDocuments
from querymill_shared.values import value
from querymill_workers.documents.ports import Documents
from querymill_workers.ledger.ports import Version
from querymill_workers.retrievers.conversations.history import forget_before
from querymill_workers.retrievers.conversations.ports.passages import Passages
from querymill_workers.retrievers.conversations.ports.ranks import ConversationRanks
from querymill_workers.retrievers.conversations.ports.sessions import KIND, Conversations
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.write.store_sessions import store_history
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.ports import Words


@value
class ConversationDocuments(Documents):
    """`Documents` of `conversations`, on any store."""

    conversations: Conversations
    conversation_passages: Passages
    vectors: Mapping[Retriever, Vectors]
    words: Words
    ranks: ConversationRanks
    board: Board
    technical_keywords: TechnicalKeywords

    @property
    def kind(self) -> Retriever:
        """The retriever."""
        return KIND

    @override
    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        cards = self.conversations.cards(collection, conditions, limit=limit, after=after)
        model = self.vectors[KIND].active_model(collection)
        if model is None or not cards:
            return cards
        ids = [card.id for card in cards]
        lacking = self.vectors[KIND].lacking(collection, model=model, documents=ids)
        return [card.model_copy(update={"pending": lacking.get(card.id, 0)}) for card in cards]

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return self.conversations.count(collection, conditions)

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """See `Documents.whole`. Live messages stand among the others."""
        stored = {id_: self.conversations.stored(collection, id_) for id_ in ids}
        return {id_: line_of(known.session) for id_, known in stored.items() if known is not None}

    def drop(self, collection: str, document: str, version: Version) -> int:
        """See `Documents.drop`. The ranks of other sessions follow soon."""
        known = self.conversations.stored(collection, document)
        if known is None:
            return 0
        left = forget_before(known.history, (version.accepted_us, version.job_id))
        if left == known.history:
            return 0
        change = store_history(collection, document, known, left, self)
        # No bell: the sweeper rings it, once the drop is committed.
        request = RecomputeRanks(collection=collection, scope="changed", background=True)
        self.board.submit(request, idempotency_key=f"ranks {self.ranks.updates(collection)}")
        if change.total:
            vectors = EmbedDocuments(collection=collection, retriever=KIND, documents=(document,))
            self.board.submit(vectors, idempotency_key=f"embed what {version.job_id} left of {document}")
        return max(1 + len(known.session.messages) - change.total - (change.total > 0), 1)

    @override
    def leave(self, collection: str) -> None:
        self.conversations.leave(collection)
        if not self.conversations.count(collection, {}):
            self.vectors[KIND].forget_model(collection)
