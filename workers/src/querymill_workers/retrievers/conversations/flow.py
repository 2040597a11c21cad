"""Which flow serves which request of `conversations`."""

from typing import assert_never

from querymill_shared.contracts.conversations import ConversationRequest
from querymill_shared.contracts.conversations.grow import GrowConversations
from querymill_shared.contracts.conversations.ingest import DropConversation, IngestConversation, UpdateConversation
from querymill_shared.contracts.conversations.load import LoadConversations
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.conversations import search
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ranks import listing, recompute
from querymill_workers.retrievers.conversations.write import grow, ingest, load


def flow_of(request: ConversationRequest) -> Flow[ConversationPorts]:
    """Return the flow that serves a request."""
    match request:
        case ConversationSearch():
            return flow(request, search.step, search.conclude)
        case RecomputeRanks():
            return flow(request, recompute.step, recompute.conclude)
        case RankList():
            return one_step(request, listing.step, listing.ENDING)
        case _:
            return flow_of_change(request)


def flow_of_change(
    request: IngestConversation | LoadConversations | GrowConversations | UpdateConversation | DropConversation,
) -> Flow[ConversationPorts]:
    """Return the flow of a request that changes sessions."""
    match request:
        case IngestConversation():
            return flow(request, ingest.step, ingest.conclude)
        case LoadConversations():
            return one_step(request, load.step, load.ENDING)
        case GrowConversations():
            return one_step(request, grow.step, grow.ENDING)
        case UpdateConversation():
            return flow(request, ingest.update, ingest.conclude)
        case DropConversation():
            return flow(request, ingest.drop, ingest.conclude)
        case _:
            assert_never(request)
