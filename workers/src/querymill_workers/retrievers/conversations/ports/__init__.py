"""The part of the world that `conversations` may touch."""

from typing import Protocol

from querymill_workers.documents.ports import BurialPorts, CleaningPorts
from querymill_workers.inference.ports import Embeddings, FormerModel
from querymill_workers.jobs.ports import Common
from querymill_workers.ledger.ports import Ledger
from querymill_workers.retrievers.conversations.ports.caches import ConversationCaches
from querymill_workers.retrievers.conversations.ports.passages import Passages
from querymill_workers.retrievers.conversations.ports.ranks import ConversationRanks
from querymill_workers.retrievers.conversations.ports.sessions import Conversations
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.set_aside.ports import SetAside
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
    def set_aside(self) -> SetAside: ...

    @property
    def technical_keywords(self) -> TechnicalKeywords: ...

    @property
    def words(self) -> Words: ...


class ConversationPorts(RankPorts, StoringPorts, BurialPorts, CleaningPorts, Protocol):
    """Everything that a flow of `conversations` may touch. ``former`` is the previous embedding model, if any."""

    @property
    def conversation_caches(self) -> ConversationCaches: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def embeddings(self) -> Embeddings: ...

    @property
    def former(self) -> FormerModel | None: ...
