"""Sessions as lists, exports and deletions need them."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.values import value
from querymill_workers.documents.ports import Body, Documents, Entry, read_entry
from querymill_workers.retrievers.messages.entry import entry_of, part_of
from querymill_workers.retrievers.messages.ingest import drop_session
from querymill_workers.retrievers.messages.ports import Sessions
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Version
from querymill_workers.words.ports import Words


@value
class SessionBody(Body):
    """`Body` of chat sessions."""

    sessions: Sessions
    words: Words
    vectors: Mapping[Retriever, Vectors]
    documents: Mapping[Retriever, Documents]

    @override
    def entry_of(self, line: Mapping[str, Any]) -> Entry | None:
        return read_entry(line, ChatSession, entry_of) or read_entry(line, SessionExtension, part_of)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        return self.sessions.whole(collection, ids)

    def drop(self, collection: str, document: str, _version: Version) -> int:
        """See `Body.drop`. A session of empty messages counts as one row."""
        dropped = drop_session(collection, document, self)
        return max(dropped.passages, int(dropped.was_there))

    @override
    def drop_remains(self, collection: str) -> None:
        """Drop nothing: nothing else is stored."""
