"""Every request of `conversations`, and every result."""

from querymill_shared.contracts.conversations.ingest import IngestConversations, IngestConversationsResult
from querymill_shared.contracts.conversations.ranks import RankList, RankListResult, RanksResult, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch
from querymill_shared.contracts.ingest import Extend

ConversationRequest = ConversationSearch | IngestConversations | Extend | RecomputeRanks | RankList
ConversationJobResult = ConversationResult | IngestConversationsResult | RanksResult | RankListResult
