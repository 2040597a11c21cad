"""The part of the world that `conversations` may touch."""

from collections.abc import Mapping
from typing import Protocol

from querymill_shared.contracts.filters import Retriever
from querymill_workers.documents.ports import CleaningPorts, Documents, LateWritePorts
from querymill_workers.jobs.ports import Common
from querymill_workers.retrievers.conversations.ports.caches import ConversationCaches
from querymill_workers.retrievers.conversations.ports.passages import Passages
from querymill_workers.retrievers.conversations.ports.ranks import ConversationRanks
from querymill_workers.retrievers.conversations.ports.sessions import Conversations
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.ports import VectorPorts, Vectors
from querymill_workers.words.ports import Words


class RankPorts(Common, Protocol):
    """What it takes to ask for updates and rebuilds of ranks."""

    @property
    def ranks(self) -> ConversationRanks: ...


class StoringPorts(Protocol):
    """What it takes to store a session as its history gives it."""

    @property
    def conversations(self) -> Conversations: ...

    @property
    def conversation_passages(self) -> Passages: ...

    @property
    def vectors(self) -> Mapping[Retriever, Vectors]: ...

    @property
    def technical_keywords(self) -> TechnicalKeywords: ...

    @property
    def words(self) -> Words: ...

    @property
    def documents(self) -> Mapping[Retriever, Documents]: ...


class ConversationPorts(RankPorts, StoringPorts, VectorPorts, LateWritePorts, CleaningPorts, Protocol):
    """Everything that a flow of `conversations` may touch."""

    @property
    def conversation_caches(self) -> ConversationCaches: ...

    @property
    def thesauri(self) -> Mapping[str, Thesaurus]: ...
