"""Sessions as lists, exports and deletions need them."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from querymill_shared.board import Board
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.contracts.vectors import EmbedDocuments
from querymill_shared.values import value
from querymill_workers.documents.ports import Body, Documents, Entry, read_entry
from querymill_workers.retrievers.conversations.entry import entry_of, part_of
from querymill_workers.retrievers.conversations.history import forget_before
from querymill_workers.retrievers.conversations.ports.passages import Passages
from querymill_workers.retrievers.conversations.ports.ranks import ConversationRanks
from querymill_workers.retrievers.conversations.ports.sessions import KIND, Conversations
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.write.store_sessions import store_history
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Version
from querymill_workers.words.ports import Words


@value
class ConversationBody(Body):
    """`Body` of sessions. Live messages stand among the others."""

    conversations: Conversations
    conversation_passages: Passages
    vectors: Mapping[Retriever, Vectors]
    words: Words
    ranks: ConversationRanks
    board: Board
    technical_keywords: TechnicalKeywords
    documents: Mapping[Retriever, Documents]

    @override
    def entry_of(self, line: Mapping[str, Any]) -> Entry | None:
        return read_entry(line, ChatSession, entry_of) or read_entry(line, SessionExtension, part_of)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        stored = self.conversations.stored_all(collection, ids)
        return {id_: line_of(stored[id_].session) for id_ in ids if id_ in stored}

    def drop(self, collection: str, document: str, version: Version) -> int:
        """See `Body.drop`. The ranks of other sessions follow soon."""
        known = self.conversations.stored(collection, document)
        if known is None:
            return 0
        left = forget_before(known.history, (version.accepted_us, version.job_id))
        if left == known.history:
            return 0
        change = store_history(collection, document, known, left, self)
        # No bell: the sweeper rings it, once the drop is committed.
        request = RecomputeRanks(collection=collection, scope="changed", background=True)
        self.board.submit(request, SubmitOptions(idempotency_key=f"ranks {self.ranks.updates(collection)}"))
        if change.total:
            vectors = EmbedDocuments(collection=collection, retriever=KIND, documents=(document,))
            self.board.submit(vectors, SubmitOptions(idempotency_key=f"embed what {version.job_id} left of {document}"))
        return max(1 + len(known.session.messages) - change.total - (change.total > 0), 1)

    @override
    def drop_remains(self, collection: str) -> None:
        self.conversations.drop_remains(collection)
