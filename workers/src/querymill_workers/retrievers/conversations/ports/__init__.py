"""The part of the world that `conversations` may touch."""

from typing import Protocol

from querymill_workers.jobs.ports import Common
from querymill_workers.retrievers.conversations.ports.caches import ConversationCaches
from querymill_workers.retrievers.conversations.ports.ranks import ConversationRanks
from querymill_workers.retrievers.conversations.ports.sessions import Conversations
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.words.ports import Words


class RankPorts(Common, Protocol):
    """What it takes to ask for updates and rebuilds of ranks."""

    @property
    def ranks(self) -> ConversationRanks: ...


class ConversationPorts(RankPorts, Protocol):
    """Everything that a flow of `conversations` may touch."""

    @property
    def conversations(self) -> Conversations: ...

    @property
    def conversation_caches(self) -> ConversationCaches: ...

    @property
    def technical_keywords(self) -> TechnicalKeywords: ...

    @property
    def words(self) -> Words: ...
