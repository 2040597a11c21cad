"""Every request of `conversations`, and every result."""

from querymill_shared.contracts.conversations.grow import GrowConversations, GrowConversationsResult
from querymill_shared.contracts.conversations.ingest import (
    DropConversation,
    IngestConversation,
    IngestConversationResult,
    UpdateConversation,
)
from querymill_shared.contracts.conversations.load import LoadConversations, LoadConversationsResult
from querymill_shared.contracts.conversations.ranks import RankList, RankListResult, RanksResult, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch

ConversationRequest = (
    ConversationSearch
    | IngestConversation
    | LoadConversations
    | GrowConversations
    | UpdateConversation
    | DropConversation
    | RecomputeRanks
    | RankList
)
ConversationJobResult = (
    ConversationResult
    | IngestConversationResult
    | LoadConversationsResult
    | GrowConversationsResult
    | RanksResult
    | RankListResult
)
